"""A question-and-answer site whose API has the shapes of the Stack Exchange API v2.3."""

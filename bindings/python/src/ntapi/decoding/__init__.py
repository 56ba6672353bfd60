"""From JSON to a program's own types, and back.

It imports nothing: threads that import one of its modules each would wait for each other.
"""

"""From JSON to a program's own types, and back.

This module imports nothing. Otherwise two threads that each import one of its modules could wait
for each other.
"""

"""Answers as spans of a context."""

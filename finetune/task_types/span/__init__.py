"""Extractive question answering: answers as spans of a context."""

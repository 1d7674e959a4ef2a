"""Faster computation with the same numbers."""

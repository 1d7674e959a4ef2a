"""Scores of predictions that others made."""

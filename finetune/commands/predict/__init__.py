"""Predictions of files."""

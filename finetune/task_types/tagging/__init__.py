"""Sequence tagging."""

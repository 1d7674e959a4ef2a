"""Comparisons, tables and reports, from what runs left on disk."""

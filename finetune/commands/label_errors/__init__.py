"""Rows whose label may be wrong."""

"""Encoders, heads' base, saving; knows nothing of tasks."""

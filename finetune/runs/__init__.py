"""A run on disk: its recipe, folder and record."""

"""A run on disk: recipe in, record out, and the folder between."""

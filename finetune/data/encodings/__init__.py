"""Encodings of text files."""

"""Trains and extends vocabularies."""

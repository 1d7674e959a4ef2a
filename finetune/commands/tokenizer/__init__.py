"""Trains vocabularies."""

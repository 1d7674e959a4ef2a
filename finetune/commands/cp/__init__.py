"""Copies recipes."""

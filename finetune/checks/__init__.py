"""Checks of data and recipes before training."""

"""Checks data and recipes before training."""

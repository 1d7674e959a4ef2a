"""Scores of a checkpoint without training."""

"""Scores and their sums, entities, significance, calibration: pure functions."""

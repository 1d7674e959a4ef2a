"""Blocks about the predictions of a split: `blocks(view, temperature)`."""

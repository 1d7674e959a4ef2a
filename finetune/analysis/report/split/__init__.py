"""Blocks about the predictions of a split; each module has `blocks(view, temperature)`."""

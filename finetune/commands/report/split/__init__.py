"""Blocks about the predictions of a split; each module has `blocks(split: SplitView)`."""

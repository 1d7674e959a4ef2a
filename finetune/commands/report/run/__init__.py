"""Blocks about one run, from its record and log; each module has `blocks(run: RunFiles)`."""

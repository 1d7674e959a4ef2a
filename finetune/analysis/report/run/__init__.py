"""Blocks about one run, from its record and log: `blocks(run)`."""

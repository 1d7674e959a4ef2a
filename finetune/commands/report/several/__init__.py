"""Blocks about runs that differ only in their seeds; each module has `blocks(group: Group)`."""

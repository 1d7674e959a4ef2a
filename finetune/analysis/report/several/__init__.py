"""Blocks about runs that differ in their seeds alone: `blocks(group)`."""

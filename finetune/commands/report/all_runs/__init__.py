"""Blocks about all runs of a page with several; each module has `blocks(page: PageRuns)`."""

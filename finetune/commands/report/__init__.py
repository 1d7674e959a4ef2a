"""The HTML page about runs."""

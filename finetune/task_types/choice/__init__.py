"""One of several choices."""

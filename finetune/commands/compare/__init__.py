"""Whether two runs differ."""

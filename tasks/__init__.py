"""One file a source of data; each ends with `TASKS = [...]`."""

"""Built-in tasks: one file per data source; each ends with `TASKS = [...]`."""

"""Common parts of HTML pages: templates, colours, charts, JSON in a script, and writing."""

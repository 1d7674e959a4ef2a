"""What HTML pages have in common: templates, colours, charts, JSON in a script, and writing."""

"""What HTML pages have in common: templates, colours, JSON in a script, and writing."""

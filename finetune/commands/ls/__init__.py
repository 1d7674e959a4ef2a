"""The list of recipes, tasks and runs."""

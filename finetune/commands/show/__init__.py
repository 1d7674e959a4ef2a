"""A run or a recipe."""

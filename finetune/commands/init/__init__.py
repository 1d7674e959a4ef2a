"""A recipe to start from."""

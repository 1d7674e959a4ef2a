"""The rows that are worth labelling next."""

"""A class or a number for a sentence or a pair."""

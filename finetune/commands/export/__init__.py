"""A model as a graph that runs without torch."""

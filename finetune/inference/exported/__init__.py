"""An exported model: a graph with what prediction needs around it, which runs without torch."""

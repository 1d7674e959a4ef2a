"""Special tokens and windows."""

"""A trained model over HTTP."""

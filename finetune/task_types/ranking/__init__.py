"""The passages of a query in order: a cross-encoder."""

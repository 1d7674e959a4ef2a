"""The card of a model (README.md in its folder): what it answers, how well, and its limits. Needs no torch."""

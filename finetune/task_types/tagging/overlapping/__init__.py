"""Spans that may overlap or nest, and have several labels: a form of tagging that scores pairs of start and end."""

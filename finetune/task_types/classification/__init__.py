"""Classes, several labels, steps or a number for a text, a pair, or a text with two marked spans."""

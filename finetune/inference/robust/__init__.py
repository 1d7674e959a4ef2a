"""Changes of a text that keep its label, and the predictions that flip."""

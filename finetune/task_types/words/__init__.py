"""What the types share whose input is words, with something for each: tokens, and columns."""

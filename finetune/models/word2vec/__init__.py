"""Vectors of words by skip-gram, trained on the rows of a run: an encoder without layers (`model=word2vec:WIDTH`)."""

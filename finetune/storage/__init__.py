"""What is kept on disk next to runs: a cache of what they share, the journal of a prediction, and rows of memory."""

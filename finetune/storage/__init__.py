"""Files next to runs: a cache that runs share, and the journal of a prediction."""

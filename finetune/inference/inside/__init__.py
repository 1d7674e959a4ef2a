"""The inside of an encoder for two sentences and one word: attention, hidden states, embeddings."""

"""What a row is, how it becomes tokens, which head reads the encoder, how answers are scored."""

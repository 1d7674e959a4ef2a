"""What each word adds to a prediction."""

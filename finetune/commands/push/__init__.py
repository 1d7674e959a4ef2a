"""A run's model on the Hugging Face Hub."""

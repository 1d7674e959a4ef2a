"""Everything that answers with a trained model."""

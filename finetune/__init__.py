"""Fine-tune BERT-family encoders: one command from a task to a model, its scores and every prediction."""

__version__ = "0.1.0"

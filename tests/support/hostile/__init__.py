"""Hostile recipes and records, made at random from a seed: each must end in an answer or a UserError."""

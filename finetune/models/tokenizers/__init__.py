"""Tokenizers, special tokens and windows."""

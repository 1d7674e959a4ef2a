"""Trains models and scores them."""

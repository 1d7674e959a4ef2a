"""Encoders, the base class of heads, saving; independent of tasks."""

"""Faster kernels with the same results."""

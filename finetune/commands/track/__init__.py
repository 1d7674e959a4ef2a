"""Sends finished runs to trackers."""

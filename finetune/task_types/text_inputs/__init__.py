"""Shared by the types whose input is a text or a pair: their columns, and their view in a report."""

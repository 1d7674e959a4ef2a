"""Sequence: a text is written from another one."""

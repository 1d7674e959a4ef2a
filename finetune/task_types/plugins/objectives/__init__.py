"""Objectives of pre-training, a file each: its name is that of the file."""

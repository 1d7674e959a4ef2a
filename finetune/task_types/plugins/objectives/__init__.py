"""Objectives of pre-training, a file each: the file's name is its name."""

"""Unlabelled text: token ids on the disk, and pieces of them as features."""

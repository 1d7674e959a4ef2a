"""The chaos harness: kills, faults and damage of every kind, and whether a run survives them; `make chaos`."""

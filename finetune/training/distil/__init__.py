"""Learning from a teacher's answers, or from soft labels: `lessons.py` (read first) has what a run learns."""

"""The processes of a launcher."""

import os


def first_process() -> bool:
    """Whether this process is the one that prints and writes (rank 0 of a launcher)."""
    return os.environ.get("RANK", "0") == "0"

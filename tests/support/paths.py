"""Where the repository is, and a run in a folder."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def only_run(folder: Path) -> Path:
    """The folder of the only run in `folder`/results."""
    (record,) = folder.glob("results/*/*/record.json")
    return record.parent

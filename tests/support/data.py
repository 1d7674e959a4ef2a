"""Data: the real files where they are at hand, and a small RTE."""

import os
from pathlib import Path

import pytest

from support.paths import ROOT


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data; tests that need it are skipped where it is not at hand."""
    named = os.environ.get("FINETUNE_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not (folder / "glue" / "MRPC" / "dev.tsv").is_file():
        pytest.skip("needs the real GLUE files: set FINETUNE_DATA to a folder that holds glue/MRPC")
    return folder.resolve()


@pytest.fixture
def rte(tmp_path: Path) -> Path:
    """A folder with a small RTE that words give away."""
    return write_rte(tmp_path / "data")


def write_rte(folder: Path) -> Path:
    for split, count in (("train", 64), ("dev", 24)):
        labels = ("entailment", "not_entailment")
        lines = [f"{i}\tthe {'cat' if i % 2 else 'dog'} sat\ta bird flew\t{labels[i % 2]}" for i in range(count)]
        (folder / "RTE").mkdir(parents=True, exist_ok=True)
        (folder / "RTE" / f"{split}.tsv").write_text("\n".join(["index\tsentence1\tsentence2\tlabel", *lines]) + "\n")
    return folder

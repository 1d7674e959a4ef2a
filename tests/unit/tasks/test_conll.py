"""Files of words and tags in columns."""

from collections import Counter
from pathlib import Path

import pytest

from finetune.data.formats.conll import read_tagged
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics.entities import chunks
from finetune.task_types.registry import find


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("latin-1"))
    return path


def test_column_files_of_four_and_two_columns(tmp_path: Path) -> None:
    first = "EU NNP I-NP I-ORG\nsaid VB I-VP O\n\n\nRome NN I-NP I-LOC\n"
    four = f"-DOCSTART- -X- O O\n\n{first}\n-DOCSTART-\n\nx y z O\n"
    found = list(read_tagged(write(tmp_path / "four", four), types=["ORG", "LOC"]))
    assert found == [(1, ["EU", "said"], ["B-ORG", "O"]), (1, ["Rome"], ["B-LOC"]), (2, ["x"], ["O"])]
    ((document, words, tags),) = read_tagged(write(tmp_path / "two", "a b\tB-person\nc\tI-person"), types=["person"])
    assert (words, tags, document) == (["a b", "c"], ["B-person", "I-person"], 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("EU NN I-ORG\nsaid O\n", r"file:2: .*found 2"),
        ("EU\n", r"file:1: .*found 1"),
        ("EU\tI-ORG\n\tO\n", r"file:2:"),
        ("EU I-ORG\n\nsaid X-ORG\n", r"file:3: 'X-ORG'"),
        ("EU I-ORG\nsaid ORG\n", r"file:2: 'ORG'"),
        ("EU I-ORG\nsaid B-PER\n", r"file:2: 'B-PER'"),
        ("EU I-ORG\ncaf\xe9 O\n", r"file:2: byte 3"),
    ],
)
def test_faults_of_column_files_are_named(text: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=expected):
        list(read_tagged(write(tmp_path / "file", text), types=["ORG"]))


def test_original_files_and_their_counts(real_data: Path) -> None:
    """Entities by type as the shared task's paper has them (Tjong Kim Sang and De Meulder 2003, Table 2)."""
    task = find("conll-2003")
    dev, test = (task.load(Source(folder=real_data), split) for split in ("dev", "test"))
    counts = [Counter(kind for row in loaded.rows for kind, _, _ in chunks(row.gold)) for loaded in (dev, test)]
    assert counts[0] == {"LOC": 1837, "MISC": 922, "ORG": 1341, "PER": 1842}
    assert counts[1] == {"LOC": 1668, "MISC": 702, "ORG": 1661, "PER": 1617}
    assert (len(dev.rows), len({row.document for row in dev.rows}), sum(len(r.words) for r in dev.rows)) == (
        3250,
        216,
        51362,
    )
    wnut = find("wnut-17").load(Source(folder=real_data), "test")
    assert sum(len(chunks(row.gold)) for row in wnut.rows) == 1079
    assert "documents" in wnut.notes[0]

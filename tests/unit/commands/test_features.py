"""`finetune features`: the vectors that transformers gives, a row a text, in order."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from support.cli import InProcess
from transformers import AutoModel, AutoTokenizer

TEXTS = ["the cat sat on a tree", "a dog", "the big red house was not old and the moon saw it"]


def hidden(folder: Path, text: str) -> list[np.ndarray]:
    """Every layer `(tokens, width)` by transformers."""
    tokens = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    with torch.no_grad():
        model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
        return [layer[0].numpy() for layer in model(**tokens, output_hidden_states=True).hidden_states]


def test_layers_are_those_of_transformers(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    (tmp_path / "texts.csv").write_text("text,label\n" + "".join(f"{text},x\n" for text in TEXTS * 4))
    given = ["features", str(tiny_bert), "texts.csv", "--pool", "cls", "--layers", "[0,2]", "-o", "cls.parquet"]
    assert in_process(*given, data=tmp_path)[0] == 0
    table = pq.read_table(tmp_path / "cls.parquet").to_pylist()
    assert [row["id"] for row in table] == [str(number) for number in range(1, 13)]
    layers = hidden(tiny_bert, TEXTS[1])
    assert np.allclose(table[1]["vector"], np.concatenate([layers[0][0], layers[2][0]]), atol=1e-5)


@pytest.mark.parametrize("pool", ["mean", "cls"])
def test_each_row_has_a_vector_in_order(in_process: InProcess, tmp_path: Path, tiny_bert: Path, pool: str) -> None:
    """Without labels, with a long text, with an empty one and with rows that a run would hold out as dev."""
    rows = ["the cat sat", "", *TEXTS * 8, "the moon saw a big red house " * 6, "a dog"]
    (tmp_path / "rows.csv").write_text("text,stars\n" + "".join(f"{row},5\n" for row in rows))
    given = ["features", str(tiny_bert), "rows.csv", "max_length=20", "--pool", pool, "-o", "rows.npz"]
    code, out, err = in_process(*given, data=tmp_path)
    assert (code, out.startswith(f"{len(rows)} rows, a vector of 32 numbers")) == (0, True)
    assert "1 row that cannot be used" in err
    found = np.load(tmp_path / "rows.npz")
    assert found["ids"].tolist() == [str(number) for number in range(1, len(rows) + 1)]
    assert np.flatnonzero(np.isnan(found["vectors"]).any(1)).tolist() == [1]
    for row in (0, 4, len(rows) - 1):
        last = hidden(tiny_bert, rows[row])[2]
        assert np.allclose(found["vectors"][row], last.mean(0) if pool == "mean" else last[0], atol=1e-5)

"""`finetune features`: the vectors that transformers gives, in order, for tokens, words and texts."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from support.cli import InProcess
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

TEXTS = ["the cat sat on a tree", "a dog", "the big red house was not old and the moon saw it"]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    lines = [f"{text},{label}" for text, label in zip(TEXTS * 4, "xy" * 6, strict=True)]
    (tmp_path / "texts.csv").write_text("\n".join(["text,label", *lines]) + "\n")
    return tmp_path


def hidden(folder: Path, text: str) -> list[np.ndarray]:
    """Every layer `(tokens, width)` by transformers."""
    tokens = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    with torch.no_grad():
        model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
        return [layer[0].numpy() for layer in model(**tokens, output_hidden_states=True).hidden_states]


def test_vectors_of_texts_are_those_of_transformers(in_process: InProcess, texts: Path, tiny_bert: Path) -> None:
    common = ["features", str(tiny_bert), "texts.csv"]
    code, out, err = in_process(*common, "--pool", "mean", "-o", "mean.npz", data=texts)
    assert code == 0, err
    assert "12 rows, a vector of 32 numbers for each -> mean.npz" in out
    found = np.load(texts / "mean.npz")
    assert found["vectors"].shape == (12, 32)
    expected = [hidden(tiny_bert, text)[2].mean(0) for text in TEXTS]
    assert np.allclose(found["vectors"][:3], expected, atol=1e-5)
    assert np.allclose(found["vectors"][9:], expected, atol=1e-5)
    code, _, _ = in_process(*common, "--pool", "cls", "--layers", "[0,2]", "-o", "cls.parquet", data=texts)
    table = pq.read_table(texts / "cls.parquet").to_pylist()
    layers = hidden(tiny_bert, TEXTS[1])
    assert np.allclose(table[1]["vector"], np.concatenate([layers[0][0], layers[2][0]]), atol=1e-5)
    assert [row["id"] for row in table] == found["ids"].tolist()


def test_mistakes_are_named(in_process: InProcess, texts: Path, tiny_bert: Path) -> None:
    def error(*more: Any) -> str:
        code, _, err = in_process("features", str(tiny_bert), "texts.csv", *more, data=texts)
        assert code == 2
        return err

    assert ".parquet, .npz" in error("-o", "x.csv")
    assert "learns" in error("--layers", "weighted-sum-all")
    assert "layer 7" in error("--layers", "[7]")
    assert "no such folder" in error("-o", "gone/x.npz")
    assert "'layers' is 'lats'" in error("--layers", "lats")
    assert "taken out" in error("--split", "all")
    assert "dev= does not apply" in error("dev=texts.csv")


@pytest.mark.parametrize("pool", ["mean", "cls"])
def test_a_file_has_one_vector_for_each_row_in_its_order(
    in_process: InProcess, tmp_path: Path, tiny_bert: Path, pool: str
) -> None:
    """Without labels, with a long text, with an empty one and with rows that a run would hold out as dev."""
    rows = ["the cat sat", "", *TEXTS * 8, "the moon saw a big red house " * 6, "a dog"]
    (tmp_path / "rows.csv").write_text("text,stars\n" + "".join(f"{row},5\n" for row in rows))
    common = ["features", str(tiny_bert), "rows.csv", "max_length=20", "--pool", pool]
    code, out, err = in_process(*common, "-o", "rows.npz", data=tmp_path)
    assert code == 0, err
    assert f"{len(rows)} rows, a vector of 32 numbers" in out
    assert "1 row that cannot be used: the first has no text" in err
    found = np.load(tmp_path / "rows.npz")
    assert found["ids"].tolist() == [str(number) for number in range(1, len(rows) + 1)]
    assert np.isnan(found["vectors"][1]).all()
    assert not np.isnan(np.delete(found["vectors"], 1, axis=0)).any()
    for row in (0, 4, len(rows) - 1):
        last = hidden(tiny_bert, rows[row])[2]
        assert np.allclose(found["vectors"][row], last.mean(0) if pool == "mean" else last[0], atol=1e-5)
    assert in_process(*common, "-o", "rows.parquet", data=tmp_path)[0] == 0
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == len(rows)


def test_a_run_is_a_model_by_its_id_and_by_its_data(in_process: InProcess, texts: Path, tiny_bert: Path) -> None:
    """For a file of other columns that has no label."""
    assert in_process("run", "texts.csv", f"model={tiny_bert}", "train.epochs=1", data=texts)[0] == 0
    (record,) = texts.glob("results/texts.csv/*/record.json")
    (texts / "new.csv").write_text("text\n" + "".join(f"{text}\n" for text in TEXTS))
    (texts / "other.csv").write_text("said\n" + "".join(f"{text}\n" for text in TEXTS))
    for name in (record.parent.name, "texts.csv"):
        for file in ("new.csv", "other.csv"):
            code, _, err = in_process("features", name, file, "--pool", "mean", "-o", "new.npz", data=texts)
            assert code == 0, err
            expected = hidden(record.parent / "model", TEXTS[0])[2].mean(0)
            assert np.allclose(np.load(texts / "new.npz")["vectors"][0], expected, atol=1e-5)


def test_a_text_s_vector_is_the_last_token_s_where_the_encoder_reads_from_left_to_right(
    in_process: InProcess, texts: Path, tiny_bert: Path
) -> None:
    theirs = AutoModelForCausalLM.from_pretrained(tiny_bert, is_decoder=True, dtype=torch.float32)
    theirs.save_pretrained(texts / "encoder")
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(texts / "encoder")
    code, _, err = in_process("features", "encoder", "texts.csv", "--pool", "cls", "-o", "cls.npz", data=texts)
    assert code == 0, err
    expected = [hidden(texts / "encoder", text)[2][-1] for text in TEXTS]
    assert np.allclose(np.load(texts / "cls.npz")["vectors"][:3], expected, atol=1e-5)

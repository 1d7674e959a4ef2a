"""The settings with which a run on the user's own data starts: the length that fits texts and encoder."""

import json
from pathlib import Path

import pytest

from finetune.models.encoder_size import longest_input
from finetune.task_types.starting_recipe import starting_recipe


def encoder(folder: Path, *, positions: int, tokens: int) -> str:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": positions}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": tokens}))
    return str(folder)


def texts(file: Path, *, words: int) -> str:
    file.write_text("text,label\n" + "".join(f"{'word ' * words}{i},{'ab'[i % 2]}\n" for i in range(60)))
    return str(file)


@pytest.mark.parametrize(("words", "length", "parts"), [(20, 64, 1), (600, 1_024, 1), (4_000, 8_192, 8)])
def test_long_texts_are_read_whole_by_an_encoder_for_long_texts(
    words: int, length: int, parts: int, tmp_path: Path
) -> None:
    """In parts of a batch that take no more memory than one of short texts."""
    long, data = encoder(tmp_path / "long", positions=8_192, tokens=8_192), texts(tmp_path / "a.csv", words=words)
    started, _ = starting_recipe(data, {"model": long})
    assert started.max_length == length
    assert started.train.accumulation == parts


def test_an_encoder_of_512_tokens_reads_long_texts_in_windows_of_256(tmp_path: Path) -> None:
    data = texts(tmp_path / "a.csv", words=600)
    assert starting_recipe(data, {"model": encoder(tmp_path / "b", positions=514, tokens=512)})[0].max_length == 256
    assert starting_recipe(data, {"model": "minilm"})[0].max_length == 256


def test_the_tokens_that_an_encoder_reads_are_those_of_its_files_or_its_name(tmp_path: Path) -> None:
    assert longest_input("answerdotai/ModernBERT-base") == 8_192
    assert longest_input("google-bert/bert-base-uncased") == longest_input("new:mini") == 512
    assert longest_input(encoder(tmp_path / "a", positions=8_192, tokens=2_048)) == 2_048
    odd = Path(encoder(tmp_path / "b", positions=8_192, tokens=10**30))
    assert longest_input(str(odd)) == 8_192
    (odd / "config.json").write_text("[]")
    (odd / "tokenizer_config.json").write_text("{")
    assert longest_input(str(odd)) == 512

"""Tags that are none of entities, such as parts of speech: taken where the user names them, else offered."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.own_data import own_task

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.parts import Answer
from finetune.task_types.tagging.schemes import in_scheme

WORDS = ["der", "Zug", "hielt", "an", "einem", "Feld", "und", "fuhr", "weiter", "."]
PARTS = ["DET", "NOUN", "VERB", "ADP", "DET", "NOUN", "CCONJ", "VERB", "ADV", "PUNCT"]
SENTENCES = [(WORDS[n % 5 : 6 + n % 4], PARTS[n % 5 : 6 + n % 4]) for n in range(40)]


def conllu(folder: Path) -> str:
    lines = []
    for number, (words, parts) in enumerate(SENTENCES):
        lines += [f"# sent_id = {number}", f"# text = {' '.join(words)}"]
        lines += [
            f"{n}\t{w}\t{w.lower()}\t{p}\t_\t_\t0\tdep\t_\t_"
            for n, (w, p) in enumerate(zip(words, parts, strict=True), 1)
        ]
        lines.append("")
    (folder / "train.conllu").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / "train.conllu")


def test_lines_that_join_words_are_no_words(tmp_path: Path) -> None:
    path = Path(conllu(tmp_path))
    joined = path.read_text(encoding="utf-8").replace("\n2\t", "\n2-3\tjoined\t_\t_\t_\t_\t_\t_\t_\t_\n2\t")
    path.write_text(joined, encoding="utf-8")
    task = own_task(path, {"label": "column 4"})
    rows = [row.words for split in ("train", "dev") for row in task.load(Source(), split).rows]
    assert sorted(rows) == sorted(tuple(words) for words, _ in SENTENCES)


def lists(folder: Path) -> str:
    lines = [json.dumps({"tokens": words, "upos": parts}) for words, parts in SENTENCES]
    (folder / "train.jsonl").write_text("\n".join(lines))
    return str(folder / "train.jsonl")


def texts(folder: Path) -> str:
    lines = [f"{' '.join(words)}\t{' '.join(parts)}" for words, parts in SENTENCES]
    (folder / "train.tsv").write_text("\n".join(["sentence\tpos", *lines]) + "\n", encoding="utf-8")
    return str(folder / "train.tsv")


FILES: list[tuple[Any, str]] = [(conllu, "column 4"), (lists, "upos"), (texts, "pos")]


@pytest.mark.parametrize(("write", "label"), FILES)
@pytest.mark.parametrize("more", [{}, {"shape": "tagging"}], ids=str)
def test_named_tags_are_taken(write: Any, label: str, more: dict[str, str], tmp_path: Path) -> None:
    task = own_task(write(tmp_path), {"label": label, **more})
    rows = {row.words: row.gold for split in ("train", "dev") for row in task.load(Source(), split).rows}
    assert rows == {tuple(words): tuple(f"B-{part}" for part in parts) for words, parts in SENTENCES}


@pytest.mark.parametrize(("write", "label"), FILES)
def test_tags_that_nobody_named_are_offered(write: Any, label: str, tmp_path: Path) -> None:
    with pytest.raises(Ambiguous) as asked:
        own_task(write(tmp_path))
    assert f"label={label}" in [setting for setting, _ in asked.value.choices]


def test_predictions_have_the_tags_of_the_file_and_their_f1_is_the_accuracy(tmp_path: Path) -> None:
    task = own_task(conllu(tmp_path), {"label": "column 4"})
    rows = task.load(Source(), "train").rows[:2]
    gold = [list(row.gold or ()) for row in rows]
    layout: Any = task.read.layout  # type: ignore[attr-defined]
    assert in_scheme(gold[0], layout) == [tag.removeprefix("B-") for tag in gold[0]]
    wrong = [["B-X" if place == 0 else tag for place, tag in enumerate(tags)] for tags in gold]
    right = 1 - 2 / sum(map(len, gold))
    assert task.scoring.score([Answer(value=tags) for tags in wrong], rows)["f1"] == pytest.approx(right)


def test_a_column_that_cannot_be_tags_says_why(tmp_path: Path) -> None:
    lines = [json.dumps({"tokens": [f"a{n}", f"b{n}"], "lemma": [f"c{n}", f"d{n}"]}) for n in range(20)]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    with pytest.raises(UserError, match=r"'lemma' cannot be tags: it has 40 different items in 40 words"):
        own_task(tmp_path / "train.jsonl", {"label": "lemma", "shape": "tagging"})


def test_tags_of_entities_are_preferred_to_parts_of_speech(tmp_path: Path) -> None:
    lines = [
        json.dumps({"tokens": words, "upos": parts, "ner": ["B-LOC", *["O"] * (len(words) - 1)]})
        for words, parts in SENTENCES
    ]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    assert own_task(tmp_path / "train.jsonl").read.layout.label == ("ner",)  # type: ignore[attr-defined]
    named: Any = own_task(tmp_path / "train.jsonl", {"label": "upos"})
    assert named.read.layout.labels == tuple(sorted({part for _, parts in SENTENCES for part in parts}))


def test_words_in_lists_are_the_text_of_a_class(tmp_path: Path) -> None:
    lines = [json.dumps({"tokens": words, "tone": "ab"[n % 2]}) for n, (words, _) in enumerate(SENTENCES)]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    task = own_task(tmp_path / "train.jsonl", {"text": "tokens", "label": "tone"})
    assert {row.text for row in task.load(Source(), "train").rows} <= {" ".join(words) for words, _ in SENTENCES}

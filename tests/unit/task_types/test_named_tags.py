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
from finetune.task_types.tagging.task import TaggingRow
from finetune.task_types.types import layout_from, layout_of

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
    assert rows == {tuple(words): tuple(parts) for words, parts in SENTENCES}


@pytest.mark.parametrize(("write", "label"), FILES)
def test_tags_that_nobody_named_are_offered(write: Any, label: str, tmp_path: Path) -> None:
    with pytest.raises(Ambiguous) as asked:
        own_task(write(tmp_path))
    assert f"label={label}" in [setting for setting, _ in asked.value.choices]


def test_plain_tags_are_the_classes_and_are_scored_by_the_accuracy_of_words(tmp_path: Path) -> None:
    task = own_task(conllu(tmp_path), {"label": "column 4"})
    rows = task.load(Source(), "train").rows[:2]
    gold = [list(row.gold or ()) for row in rows]
    assert task.labels == tuple(sorted({part for _, parts in SENTENCES for part in parts}))  # type: ignore[attr-defined]
    wrong = [["X" if place == 0 else tag for place, tag in enumerate(tags)] for tags in gold]
    scores = task.score([Answer(value=tags) for tags in wrong], rows)
    assert task.metrics[0].name == "accuracy"
    assert scores["accuracy"] == pytest.approx(1 - 2 / sum(map(len, gold)))
    assert scores["NOUN/f1"] < 1 or "NOUN" not in {tags[0] for tags in gold}


def test_the_baseline_gives_an_unknown_word_the_most_frequent_tag(tmp_path: Path) -> None:
    task = own_task(conllu(tmp_path), {"label": "column 4"})
    ((name, answers),) = task.baselines(
        [TaggingRow(id="1", words=("der", "Hof", "Zug"), gold=("DET", "NOUN", "NOUN"))],
        [TaggingRow(id="2", words=("der", "Acker"), gold=("DET", "NOUN"))],
    ).items()
    assert (name, answers[0].value) == ("most-frequent-tag", ["DET", "NOUN"])


def test_a_model_that_learned_plain_tags_as_entities_is_refused(tmp_path: Path) -> None:
    saved = layout_of(own_task(conllu(tmp_path), {"label": "column 4"}))
    assert saved is not None
    assert layout_from(json.loads(json.dumps(saved))).tag_form == "plain"
    with pytest.raises(UserError, match="train it again"):
        layout_from({**saved, "tag_form": "each"})


def test_brackets_of_a_treebank_are_tags(tmp_path: Path) -> None:
    lines = "".join(f"a{n}\tNN\n(\t-LRB-\nb{n % 3}\tNN\n\n" for n in range(30))
    (tmp_path / "train.conll").write_text(lines)
    task = own_task(tmp_path / "train.conll", {"label": "column 2"})
    row = task.load(Source(), "train").rows[0]
    assert row.gold == ("NN", "-LRB-", "NN")
    assert task.score([Answer(value=["NN", "NN", "NN"])], [row])["-LRB-/f1"] == 0


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

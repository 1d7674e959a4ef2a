"""Tags of words: every word is read once, plain tags are taken where they are named, raw texts are cut into words."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from support.own_data import offered, own_task, rows_of
from support.published import PUBLISHED
from support.toys import tag_task
from transformers import AutoTokenizer

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types.options import configured
from finetune.task_types.parts import Answer
from finetune.task_types.tagging.task import TaggingRow
from finetune.task_types.types import layout_from, layout_of, trained_task


@pytest.mark.parametrize(("context", "max_length"), [("sentence", 8), ("document", 13), ("document", 128)])
def test_every_word_is_labelled_exactly_once(context: str, max_length: int, tiny_vocabulary: Path) -> None:
    task = configured(tag_task(), {"context": context})
    rows = task.load(Source(), "train").rows
    rows = [*rows, replace(rows[0], words=("cat\x00dog", "\x00", "abc" * 9), gold=("O", "B-ANIMAL", "O"))]
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_vocabulary), max_length)
    seen = Counter((f.row + after, word) for f in features for after, word in f.note.tolist())
    assert seen == Counter((row, word) for row in range(len(rows)) for word in range(len(rows[row].words)))
    for feature in features:
        assert min(feature.reads) > 0 and max(feature.reads) < len(feature) - 1 < max_length
        assert list(feature.reads) == sorted(set(feature.reads))
        golds = [rows[feature.row + after].gold[word] for after, word in feature.note.tolist()]
        assert [task.labels[label] for label in feature.label] == golds
    assert max_length < 128 or len(features) < len(rows)


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("running", [False, True])
def test_published_vocabularies_begin_each_word_at_its_first_token(name: str, running: bool, tmp_path: Path) -> None:
    """Where words begin with a space of their own or none, and a sign becomes several; one token after the other."""
    PUBLISHED[name].write(tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    odd = ("e\u0301te\u0301", normalize("NFD", "훈민정음"), "ＡＢＣ（１）", "…", "river", "9,411", "漢字🙂")
    words = ("서울은", "한강,", "①번", *odd)
    text = " ".join(words)
    starts = tuple(len(" ".join((*words[:place], ""))) for place in range(len(words)))
    given: dict[str, Any] = {"text": text, "starts": starts} if running else {}
    row = TaggingRow(id="", words=words, gold=("O",) * len(words), **given)
    (feature,) = tag_task().encode([row], tokenizer, 400)
    plain = tokenizer(text, return_offsets_mapping=True)
    assert list(feature.input_ids) == plain["input_ids"]
    assert feature.note[:, 1].tolist() == list(range(len(words)))
    for place, start, word in zip(feature.reads, starts, words, strict=True):
        first, after = plain["offset_mapping"][place]
        assert start - 1 <= first <= start and after <= start + len(word)
        assert running is False or after > start  # a token of the space alone says nothing of a running text's word
        assert place == 1 or plain["offset_mapping"][place - 1][1] <= start


WORDS = ["der", "Zug", "hielt", "an", "einem", "Feld", "und", "fuhr", "weiter", "."]
PARTS = ["DET", "NOUN", "VERB", "ADP", "DET", "NOUN", "CCONJ", "VERB", "ADV", "PUNCT"]
SENTENCES = [(WORDS[n % 5 : 6 + n % 4], PARTS[n % 5 : 6 + n % 4]) for n in range(40)]
CLASSES = tuple(sorted({*PARTS} - {"PUNCT"}))


def conllu(folder: Path) -> str:
    """With a line that joins two words, which is no word."""
    lines = []
    for number, (words, parts) in enumerate(SENTENCES):
        rows = [
            f"{n}\t{w}\t{w.lower()}\t{p}\t_\t_\t0\tdep\t_\t_"
            for n, (w, p) in enumerate(zip(words, parts, strict=True), 1)
        ]
        joined = "2-3\tjoined\t_\t_\t_\t_\t_\t_\t_\t_"
        lines += [f"# sent_id = {number}", f"# text = {' '.join(words)}", rows[0], joined, *rows[1:], ""]
    (folder / "train.conllu").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / "train.conllu")


def lists(folder: Path) -> str:
    rows = [{"tokens": w, "upos": p} for w, p in SENTENCES]
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return str(folder / "train.jsonl")


@pytest.mark.parametrize(("write", "label"), [(conllu, "column 4"), (lists, "upos")])
def test_plain_tags_are_taken_where_the_user_names_them_else_offered(write: Any, label: str, tmp_path: Path) -> None:
    data = write(tmp_path)
    for settings in ({"label": label}, {"label": label, "shape": "tagging"}):
        task: Any = own_task(data, settings)
        assert {row.words: row.gold for row in rows_of(data, settings)} == {
            tuple(words): tuple(parts) for words, parts in SENTENCES
        }
    assert task.labels == CLASSES
    assert f"label={label}" in offered(data)
    saved = layout_of(task)
    assert saved is not None and layout_from(json.loads(json.dumps(saved))).tag_form == "plain"
    with pytest.raises(UserError, match="train it again"):
        layout_from({**saved, "tag_form": "each"})


def test_plain_tags_are_scored_by_the_accuracy_of_words(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text("".join(f"a{n}\tNN\n(\t-LRB-\nb{n % 3}\tVB\n\n" for n in range(30)))
    task = own_task(tmp_path / "a.conll", {"label": "column 2"})
    row = task.load(Source(), "train").rows[0]
    assert row.gold == ("NN", "-LRB-", "VB")  # the brackets of a treebank are tags
    scores = task.score([Answer(value=["NN", "NN", "VB"])], [row])
    assert (scores["accuracy"], scores["-LRB-/f1"], scores["NN/f1"]) == (pytest.approx(2 / 3), 0, pytest.approx(2 / 3))
    seen = [TaggingRow(id="1", words=("der", "Hof", "Zug"), gold=("VB", "NN", "NN"))]
    ((name, answers),) = task.baselines(seen, [TaggingRow(id="2", words=("der", "Acker"))]).items()
    assert (name, answers[0].value) == ("most-frequent-tag", ["VB", "NN"])


TOKENISED = "EU\tB-ORG\n,\tO\nParis\tB-LOC\n.\tO\n\nAnna\tB-PER\nslept\tO\n.\tO\n\nShe\tO\nleft\tO\n;\tO\nbye\tO\n"
JOINED = TOKENISED.replace("\n,\tO", "\nLtd,\tO").replace("\n;\tO", "\nso;\tO")


@pytest.mark.parametrize(
    ("train", "text", "words"),
    [
        (TOKENISED, "She left  Paris.", "She left Paris ."),
        (JOINED, "She left Paris.", "She left Paris."),
        (TOKENISED, "(New York), the U.S. and Dr. Smith's car...", "( New York ) , the U.S. and Dr. Smith 's car ..."),
        (TOKENISED, "‘Oh!’ she said", "‘ Oh ! ’ she said"),
        (TOKENISED, "He paid 1,000.50 at 3:15.", "He paid 1,000.50 at 3:15 ."),
        (TOKENISED, "Mr. Smith saw Rome .", "Mr. Smith saw Rome ."),  # tokenised already
    ],
)
def test_signs_are_split_off_as_in_the_training_data(train: str, text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "train.conll").write_text(train)
    saved = layout_of(own_task(tmp_path / "train.conll"))
    task: Any = trained_task(layout_from(saved), name="train.conll")  # type: ignore[arg-type]
    row = task.row(text)
    assert (row.words, row.input) == (tuple(words.split()), words)
    spans = task.cells(Answer(value=["O"] * len(row.words)), row).get("characters")
    assert spans is None or [text[a:b] for a, b in spans] == words.split()
    if "She" in text:
        cells = task.cells(Answer(value=["O", "O", "B-LOC", "O"][: len(row.words)]), row)
        place = text.index("Paris")
        end = place + len(row.words[2])
        assert cells["entities"] == [{"type": "LOC", "text": row.words[2], "start": place, "end": end}]

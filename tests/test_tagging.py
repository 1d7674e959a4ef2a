"""Tagging: chunks equal conlleval's and seqeval's, every word is trained and scored exactly once, column files."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import seqeval.metrics
from seqeval.scheme import IOB2
from toys import tag_task
from transformers import AutoTokenizer

from finetune.data.formats.conll import read_tagged
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics.entities import chunks, entity_scores, illegal_transitions, strict_chunks, to_iob2
from finetune.models.tokenizers.windows import most_context, window_starts
from finetune.task_types import TaggingRow, TaggingTask
from finetune.task_types.options import configured
from finetune.task_types.registry import find
from finetune.task_types.task import Answer

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("O B-PER I-PER O", [("PER", 1, 3)]),
        ("I-PER I-PER", [("PER", 0, 2)]),  # an orphan I opens a chunk
        ("B-PER B-PER", [("PER", 0, 1), ("PER", 1, 2)]),
        ("B-PER I-LOC I-LOC", [("PER", 0, 1), ("LOC", 1, 3)]),
        ("I-PER B-PER I-PER O I-LOC", [("PER", 0, 1), ("PER", 1, 3), ("LOC", 4, 5)]),
        ("S-PER B-LOC E-LOC S-LOC", [("PER", 0, 1), ("LOC", 1, 3), ("LOC", 3, 4)]),
        ("U-PER B-LOC I-LOC L-LOC U-LOC", [("PER", 0, 1), ("LOC", 1, 4), ("LOC", 4, 5)]),
        ("B-creative-work I-creative-work", [("creative-work", 0, 2)]),
        ("", []),
    ],
)
def test_chunks_by_hand(tags: str, expected: list[tuple[str, int, int]]) -> None:
    assert chunks(tags.split()) == expected


def test_strict_chunks_by_hand() -> None:
    assert strict_chunks(["I-PER", "B-PER", "I-PER", "I-LOC", "O", "I-PER", "B-LOC"]) == [("PER", 1, 3), ("LOC", 6, 7)]


@pytest.mark.parametrize(
    "tags",
    [
        "I-PER I-PER B-PER O I-LOC",
        "B-PER I-PER B-PER O B-LOC",
        "B-PER E-PER S-PER O S-LOC",
        "B-PER L-PER U-PER O U-LOC",
    ],
)
def test_every_scheme_becomes_the_same_iob2(tags: str) -> None:
    assert to_iob2(tags.split()) == ["B-PER", "I-PER", "B-PER", "O", "B-LOC"]


def test_illegal_transitions_are_those_of_iob2() -> None:
    assert illegal_transitions(["I-PER", "I-PER", "B-LOC", "I-PER", "O", "I-LOC"]) == 3
    assert illegal_transitions(["B-PER", "I-PER", "O", "B-LOC", "B-LOC", "I-LOC"]) == 0


def test_scores_by_hand() -> None:
    """conlleval's own example of counting: two of three found are right, of four that are there."""
    gold = [[("PER", 0, 2), ("LOC", 3, 4)], [("LOC", 0, 1), ("PER", 2, 3)]]
    found = [[("PER", 0, 2), ("LOC", 3, 5)], [("LOC", 0, 1)]]
    scores = entity_scores(gold, found)
    assert scores[""] == pytest.approx((2 / 3, 1 / 2, 4 / 7))
    assert scores["PER"] == pytest.approx((1, 1 / 2, 2 / 3))
    assert scores["LOC"] == pytest.approx((1 / 2, 1 / 2, 1 / 2))
    assert entity_scores([[]], [[]])[""] == (0.0, 0.0, 0.0)


def test_scores_equal_seqeval_in_both_modes() -> None:
    generator = random.Random(1)
    gold = [to_iob2(generator.choices(TAGS, k=generator.randint(1, 12))) for _ in range(400)]
    found = [[t if generator.random() < 0.7 else generator.choice(TAGS) for t in row] for row in gold]
    task = find("conll-2003")
    rows = [TaggingRow(id=str(i), words=("w",) * len(tags), gold=tuple(tags)) for i, tags in enumerate(gold)]
    ours = task.score([Answer(value=tags) for tags in found], rows)
    assert ours["f1"] == pytest.approx(seqeval.metrics.f1_score(gold, found), abs=1e-12)
    assert ours["precision"] == pytest.approx(seqeval.metrics.precision_score(gold, found), abs=1e-12)
    assert ours["recall"] == pytest.approx(seqeval.metrics.recall_score(gold, found), abs=1e-12)
    strict = seqeval.metrics.f1_score(gold, found, mode="strict", scheme=IOB2)
    assert ours["strict f1"] == pytest.approx(strict, abs=1e-12)
    report = seqeval.metrics.classification_report(gold, found, output_dict=True)
    assert ours["LOC/f1"] == pytest.approx(report["LOC"]["f1-score"], abs=1e-12)
    assert ours["f1"] != pytest.approx(strict, abs=1e-3)  # or the comparison would mean little


def test_windows_reach_the_end_and_each_token_has_most_context_in_its_own() -> None:
    for tokens in (1, 9, 10, 11, 37, 100):
        starts = window_starts(tokens, size=10, step=4)
        assert starts[-1] + 10 >= tokens
        assert len(starts) == 1 or starts[-2] + 10 < tokens
        owner = most_context(np.arange(tokens), starts, tokens=tokens, size=10)
        for place in range(tokens):
            context = {}
            for number, start in enumerate(starts):
                end = min(start + 10, tokens)
                if start <= place < end:
                    context[number] = min(place - start, end - 1 - place) + 0.01 * (end - start)
            assert owner[place] == max(context, key=lambda number: (context[number], -number))


@pytest.mark.parametrize("context", ["sentence", "document"])
@pytest.mark.parametrize("max_length", [8, 13, 128])
def test_every_word_is_labelled_exactly_once(context: str, max_length: int, tiny_encoder: Path) -> None:
    task = configured(tag_task(), {"context": context})
    rows = task.load(Source(), "train").rows
    rows = [*rows, replace(rows[0], words=("cat\x00dog", "\x00", "abc" * 9), gold=("O", "B-ANIMAL", "O"))]
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_encoder), max_length)
    seen = Counter((row, word) for feature in features for row, word in feature.note.tolist())
    assert set(seen) == {(row, word) for row in range(len(rows)) for word in range(len(rows[row].words))}
    assert set(seen.values()) == {1}
    for feature in features:
        assert min(feature.reads) > 0 and max(feature.reads) < len(feature) - 1
        assert list(feature.reads) == sorted(set(feature.reads))
        for label, (row, word) in zip(feature.label, feature.note.tolist(), strict=True):
            assert task.labels[label] == rows[row].gold[word]
    assert max(map(len, features)) <= max_length
    if context == "document" and max_length == 128:
        assert len(features) < len(rows)


def test_the_first_token_of_a_word_carries_its_tag(tiny_bert: Path) -> None:
    task: TaggingTask = tag_task()
    row = TaggingRow(id="", words=("cats", "sat", "on-it"), gold=("B-ANIMAL", "O", "O"))
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    (feature,) = task.encode([row], tokenizer, 32)
    tokens = tokenizer.convert_ids_to_tokens(feature.input_ids)
    assert [tokens[place] for place in feature.reads] == ["cat", "sat", "on"]
    assert len(tokens) > 3 + 2
    expected = tokenizer(list(row.words), is_split_into_words=True)
    assert feature.input_ids == expected["input_ids"]


def test_decoding_puts_each_word_back(tiny_bert: Path) -> None:
    task = configured(tag_task(), {"context": "document"})
    rows = task.load(Source(), "train").rows
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_bert), 10)
    logits = []
    for feature in features:
        given = np.full((len(feature.reads), len(task.labels)), -1.0)
        for place, (row, word) in enumerate(feature.note.tolist()):
            given[place, task.labels.index(rows[row].gold[word])] = 5.0
        logits.append(given)
    answers = task.decode(logits, features, rows)
    assert [tuple(answer.value) for answer in answers] == [row.gold for row in rows]
    sure = 1 / (1 + (len(task.labels) - 1) * np.exp(-6))
    assert answers[0].probabilities == pytest.approx([sure] * len(rows[0].words))


def test_remarks_count_illegal_transitions() -> None:
    (remark,) = tag_task().remarks([Answer(value=["I-ANIMAL", "O", "I-PLACE"])], [])
    assert remark.startswith("2 illegal transitions")
    assert remark.endswith("in 3 tags")


def test_the_baseline_gives_each_word_its_most_frequent_tag() -> None:
    rows = [TaggingRow(id="", words=("cat", "cat", "cat", "a"), gold=("O", "B-ANIMAL", "B-ANIMAL", "O"))]
    (answer,) = tag_task().baselines(rows, [TaggingRow(id="", words=("cat", "new"))])["most-frequent-tag"]
    assert answer.value == ["B-ANIMAL", "O"]


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("latin-1"))
    return path


def test_column_files_of_four_and_two_columns(tmp_path: Path) -> None:
    first = "EU NNP I-NP I-ORG\nsaid VB I-VP O\n\n\nRome NN I-NP I-LOC\n"
    four = f"-DOCSTART- -X- O O\n\n{first}\n-DOCSTART-\n\nx y z O\n"
    found = list(read_tagged(write(tmp_path / "four", four), types=["ORG", "LOC"]))
    assert found == [
        (1, ["EU", "said"], ["B-ORG", "O"]),
        (1, ["Rome"], ["B-LOC"]),
        (2, ["x"], ["O"]),
    ]
    ((document, words, tags),) = read_tagged(write(tmp_path / "two", "a b\tB-person\nc\tI-person"), types=["person"])
    assert (words, tags, document) == (["a b", "c"], ["B-person", "I-person"], 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("EU NN I-ORG\nsaid O\n", r"file:2: 2 columns where the first line has 3"),
        ("EU\n", r"file:1: 1 columns"),
        ("EU\tI-ORG\n\tO\n", r"file:2: the word is missing"),
        ("EU I-ORG\n\nsaid X-ORG\n", r"file:3: 'X-ORG' is not a tag"),
        ("EU I-ORG\nsaid ORG\n", r"file:2: 'ORG' is not a tag"),
        ("EU I-ORG\nsaid B-PER\n", r"file:2: 'B-PER' has a type that is none of ORG"),
        ("EU I-ORG\ncaf\xe9 O\n", r"file:2: byte 3 is not UTF-8"),
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
    assert "does not mark its documents" in wnut.notes[0]

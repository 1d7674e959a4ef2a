"""Toy tasks that a tiny encoder learns in seconds, some also as files."""

import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from finetune.data.documents import Document
from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.metrics.scores import accuracy, pearson
from finetune.task_types import (
    SpanRow,
    SpanTask,
    TaggingRow,
    TaggingTask,
)
from finetune.task_types.choice.task import ChoiceRow, ChoiceTask
from finetune.task_types.classification.task import MultiLabelRow, MultiLabelTask, SentenceRow, SentenceTask
from finetune.task_types.plugins.intents import IntentRow, IntentTask
from finetune.task_types.plugins.overlapping import OverlapRow, OverlapTask, in_order
from finetune.task_types.plugins.ranking import RankingRow, RankingTask
from finetune.task_types.pretraining.task import TextTask
from finetune.task_types.task import Task
from support.corpora import documents
from support.encoders import WORDS

OWN_TASK = """
from finetune.metrics import accuracy
from finetune.task_types import Rows, SentenceRow, SentenceTask

def read(source, split):
    rows = [SentenceRow(id=str(i), text='cat' if i % 2 else 'dog', gold=str(i % 2)) for i in range(32)]
    rows[3] = rows[3]
    return Rows(rows=rows, origin='made up')

TASKS = [
    SentenceTask(name='mine', read=read, labels=('0', '1'), metrics=(accuracy,))
]
"""


def sentences(count: int, *, seed: int = 0) -> list[str]:
    """Random sentences of 3 to 12 known words."""
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=generator.randint(3, 12))) for _ in range(count)]


def cat_rows(count: int, *, seed: int = 0) -> list[SentenceRow]:
    """`yes` where a cat is first, `no` where a dog is."""
    rows = []
    for index, text in enumerate(sentences(count, seed=seed)):
        cat = (index * 7 + seed) % 2 == 0
        rows.append(SentenceRow(id=str(index), text=f"{'cat' if cat else 'dog'} {text}", gold="yes" if cat else "no"))
    return rows


def cat_task(rows: Sequence[SentenceRow] | None = None) -> SentenceTask:
    """Classification; the rows serve as training and dev split alike."""
    given = cat_rows(64) if rows is None else rows
    return toy(SentenceTask, given, name="toy-cats", labels=("no", "yes"), metrics=(accuracy,))


def length_task() -> SentenceTask:
    """Regression on a pair: how many of five the second sentence has of the word `red`."""
    rows = []
    for index, text in enumerate(sentences(64)):
        pair = " ".join(["red"] * (index % 6) + ["blue"] * (5 - index % 6))
        rows.append(SentenceRow(id=str(index), text=text, pair=pair, gold=float(index % 6)))
    return toy(SentenceTask, rows, name="toy-reds", metrics=(pearson,))


def toy(kind: type[Task], rows: Sequence[Any], **fields: Any) -> Any:
    """A task of a shape, whose rows serve as training and dev split alike."""
    return kind(read=lambda source, split: Rows(rows=rows, origin="toy"), **fields)


def tag_task(*, context: str = "sentence") -> TaggingTask:
    """Entities: animals, and places with a colour before them. Two rows are a document."""
    rows = []
    for index, text in enumerate(sentences(64, seed=3)):
        words = text.split()
        tags = ["B-ANIMAL" if word in ("cat", "dog", "bird") else "O" for word in words]
        for place, (word, after) in enumerate(pairwise(words)):
            if word in ("red", "blue", "big", "small") and after in ("house", "tree", "river", "road", "sun", "moon"):
                tags[place : place + 2] = ["B-PLACE", "I-PLACE"]
        rows.append(TaggingRow(id=str(index), words=tuple(words), gold=tuple(tags), document=str(index // 2)))
    return toy(TaggingTask, rows, name=f"toy-tags-{context}", types=("ANIMAL", "PLACE"), context=context)


def intent_task() -> IntentTask:
    """The entities of `tag_task`, and by the first word whether the text asks for a song or for a book."""
    rows = []
    for index, row in enumerate(tag_task().load(Source(), "train").rows):
        first, intent = (("yes", "play"), ("no", "read"))[index * 7 % 2]
        gold = (intent, ("O", *row.gold))
        rows.append(IntentRow(id=row.id, words=(first, *row.words), gold=gold))
    return toy(IntentTask, rows, name="toy-intents", types=("ANIMAL", "PLACE"), intents=("play", "read"))


def overlap_task() -> OverlapTask:
    """An animal, and the phrase of a colour and the two words behind it, in which the first of them is nested."""
    rows = []
    for index, text in enumerate(sentences(64, seed=7)):
        words, starts = zip(*((match[0], match.start()) for match in re.finditer(r"\S+", text)), strict=True)
        spans = []
        for place, (start, word) in enumerate(zip(starts, words, strict=True)):
            if word in ("cat", "dog", "bird"):
                spans.append((start, start + len(word), "ANIMAL"))
            if word in ("red", "blue", "big", "small"):
                last = min(place + 2, len(words) - 1)
                spans += [(start, starts[last] + len(words[last]), "PHRASE"), (start, start + len(word), "COLOUR")]
        rows.append(OverlapRow(id=str(index), text=text, gold=tuple(sorted(spans, key=in_order))))
    return toy(OverlapTask, rows, name="toy-overlaps", types=("ANIMAL", "COLOUR", "PHRASE"))


def span_task(*, unanswerable: bool = False) -> SpanTask:
    """The answer is `moon` or `sun` with the word after it; every third question may have none."""
    rows = []
    for index, text in enumerate(sentences(64, seed=4)):
        words = [word for word in text.split() if word not in ("moon", "sun")]
        answers, start = ("",), 0
        if unanswerable and index % 3 == 0:
            context, answers, start = " ".join(["the", *words]), (), None
        else:
            place = index % (len(words) + 1)
            words = [*words[:place], ("moon", "sun")[index % 2], "flew", *words[place:]]
            context = " ".join(words)
            answers = (" ".join(words[place : place + 2]),)
            start = len(" ".join([*words[:place], ""]))
        rows.append(SpanRow(id=f"q{index}", question="who flew ?", context=context, answers=answers, start=start))
    return toy(SpanTask, rows, name=f"toy-spans-{'2' if unanswerable else '1'}", unanswerable=unanswerable)


def choice_task(*, ragged: bool = True) -> ChoiceTask:
    """The right choice says yes; rows have two to four choices, or all have three."""
    rows = []
    texts = iter(sentences(400, seed=5))
    for index in range(64):
        count = 2 + index % 3 if ragged else 3
        gold = index % count
        choices = tuple(f"{'yes' if i == gold else 'no'} {next(texts)}" for i in range(count))
        rows.append(ChoiceRow(id=str(index), context=next(texts), choices=choices, gold=gold))
    return toy(ChoiceTask, rows, name="toy-choices")


def ranking_task(loss: str = "row") -> RankingTask:
    """The relevant one of four passages of a query says yes."""
    rows, texts = [], (" ".join(text.split()[:3]) for text in sentences(400, seed=7))
    for query in range(16):
        asked, count = next(texts), 4
        for place in range(count):
            right = place == query % count
            passage = f"{'yes' if right else 'no'} {next(texts)}"
            rows.append(RankingRow(id=f"{query}-{place}", text=asked, pair=passage, gold=float(right)))
    return toy(RankingTask, rows, name=f"toy-ranking-{loss}", loss=loss)


def write_columns(folder: Path, names: Sequence[str], *, types: tuple[str, str]) -> None:
    """The tagging toy as column files, its two types under other names."""
    lines = ["-DOCSTART- O"]
    for row in tag_task().load(Source(), "train").rows:
        tags = (tag.replace("ANIMAL", types[0]).replace("PLACE", types[1]) for tag in row.gold)
        lines += ["", *(f"{word} {tag}" for word, tag in zip(row.words, tags, strict=True))]
    for name in names:
        (folder / name).write_text("\n".join(lines) + "\n")


def write_squad(folder: Path, version: str) -> None:
    """The span toy as the official JSON files of a version."""
    paragraphs = []
    for row in span_task(unanswerable=version == "v2.0").load(Source(), "train").rows:
        answers = [{"text": text, "answer_start": row.start} for text in row.answers or ()]
        questions = [{"id": row.id, "question": row.question, "answers": answers}]
        paragraphs.append({"context": row.context, "qas": questions})
    for split in ("train", "dev"):
        content = {"version": version, "data": [{"title": "toy", "paragraphs": paragraphs}]}
        (folder / f"{split}-{version}.json").write_text(json.dumps(content))


def write_swag(folder: Path) -> None:
    """The choice toy as SWAG's csv files; the fourth choice is the first once more."""
    lines = [
        ",".join((row.context, "", *row.choices, row.choices[0], str(row.gold)))
        for row in choice_task(ragged=False).load(Source(), "train").rows
    ]
    header = "sent1,sent2,ending0,ending1,ending2,ending3,label"
    for name in ("train.csv", "val.csv"):
        (folder / name).write_text("\n".join([header, *lines]) + "\n")


def labels_task() -> MultiLabelTask:
    """The first word says which of three labels a row has: none, one, two or all."""
    labels = ("animal", "big/small", "sky")
    sets = {"was": (), "cat": ("animal",), "moon": ("big/small", "sky"), "bird": labels}
    firsts = list(sets.items()) * 16
    rows = [
        MultiLabelRow(id=str(index), text=f"{first} {text}", gold=gold)
        for index, ((first, gold), text) in enumerate(zip(firsts, sentences(64, seed=6), strict=True))
    ]
    return toy(MultiLabelTask, rows, name="toy-labels", labels=labels)


def late_task() -> SentenceTask:
    """Yes or no by the last word, which stands behind the 24 tokens, or 32, that tests cut at."""
    rows = [
        SentenceRow(id=str(index), text=f"{'the ' * 40}{('dog', 'cat')[index % 2]}", gold=("no", "yes")[index % 2])
        for index in range(64)
    ]
    return replace(cat_task(rows), name="toy-late", windows=True)


def text_task(objective: str = "mlm", rows: Sequence[Document] | None = None) -> TextTask:
    """Documents to pre-train on."""
    given = documents(24) if rows is None else rows
    return toy(TextTask, given, name=f"toy-text-{objective}", objective=objective)


def labelled_shapes() -> list[Task]:
    """A toy of each shape that the package has for rows with labels."""
    spans = [span_task(), span_task(unanswerable=True)]
    tagged = [tag_task(), intent_task(), overlap_task()]
    return [cat_task(), length_task(), labels_task(), *tagged, *spans, choice_task(), ranking_task()]


def single_answers() -> list[Task]:
    """Those of `labelled_shapes` in which each logit is an answer by itself: a student can learn it, it can be
    explained, and a class of transformers reads it.
    """
    return [task for task in labelled_shapes() if not isinstance(task, OverlapTask | IntentTask)]


def every_shape() -> list[Task]:
    """A toy of each shape that the package has, and of each objective of text."""
    return [*labelled_shapes(), text_task(), *map(text_task, ("mlm-nsp", "ltr", "mlm-sop", "mlm-sbo", "rtd"))]

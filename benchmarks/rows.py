"""Rows of data sets as the cells of files, for benchmarks that train on files of them."""

import csv
import json
import lzma
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from finetune.data.source import source_of
from finetune.task_types.registry import find

Cells = tuple[str, ...]
Table = tuple[Cells, list[tuple[Cells, str]]]  # the header, and each row's cells with its class, if it has one
ARTICLES, PARAGRAPHS, WORDS = 100, 60, 25  # of Wikipedia, of each of them at least, and of each paragraph


def rows_of(task: str, split: str = "train") -> Sequence[Any]:
    """The rows of a shipped task."""
    return find(task).load(source_of(None), split).rows


def data_file(*parts: str) -> Path:
    """A file of the data folder."""
    folder = source_of(None).folder
    assert folder is not None
    return folder.joinpath(*parts)


def write(path: Path, header: Cells, rows: Sequence[Sequence[Any]]) -> Path:
    """A CSV file, or without a header one of words and tags, a pair a cell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".csv" if header else ".conll").open("w", newline="", encoding="utf-8") as file:
        if header:
            csv.writer(file).writerows([header, *rows])
        else:
            file.writelines("\n".join(row) + "\n\n" for row in rows)
    return Path(file.name)


def texts(task: str, split: str) -> Table:
    """The rows of a task on texts or pairs; numbers have no class."""
    rows = rows_of(task, split)
    number = isinstance(rows[0].gold, float)
    header = ("text",) if rows[0].pair is None else ("sentence1", "sentence2")
    cells = [((*row.texts, str(row.gold)), "" if number else str(row.gold)) for row in rows]
    return (*header, "score" if number else "label"), cells


def table(folder: str, files: tuple[str, str], columns: dict[str, str], split: str) -> Table:
    """A tab-separated file of the data folder; `columns` are its names and ours, the label last."""
    lines = data_file(folder, files[split != "train"]).read_text(encoding="utf-8").splitlines()
    places = [lines[0].split("\t").index(name) for name in columns]
    rows = (tuple(line.split("\t")[place] for place in places) for line in lines[1:])
    header = tuple(columns.values())
    return header, [(cells, cells[-1] if header[-1] == "label" else "") for cells in rows if all(cells)]


def with_entities(task: str, split: str = "train") -> list[Any]:
    """The sentences that have an entity."""
    return [row for row in rows_of(task, split) if set(row.gold) > {"O"}]


def tagged(task: str, split: str) -> Table:
    """The words and tags of sentences that have an entity, a pair a line."""
    return (), [(tag_lines(row), "") for row in with_entities(task, split)]


def tag_lines(row: Any) -> Cells:
    """The words and tags of a sentence."""
    return tuple(f"{word}\t{tag}" for word, tag in zip(row.words, row.gold, strict=True))


def types_of(row: Any) -> list[str]:
    """The types of a sentence's entities."""
    return sorted({tag[2:] for tag in row.gold if tag != "O"})


def types_of_entities(split: str) -> Table:
    """Sentences of CoNLL-2003 with the types of their entities, as several labels; a row's class is its first type."""
    rows = [(" ".join(row.words), types_of(row)) for row in with_entities("conll-2003", split)]
    return ("text", "labels"), [((text, json.dumps(types)), types[0]) for text, types in rows]


def every_second(pairs: Sequence[tuple[str, str]], split: str) -> Table:
    """Texts and their class: every second one is for training, the others for dev."""
    return ("text", "label"), [((text, name), name) for text, name in pairs[split != "train" :: 2]]


def articles_of_questions(split: str) -> Table:
    """Questions of SQuAD 1.1's dev file; their class is the title of the article, one of 48."""
    articles = json.loads(data_file("squad", "dev-v1.1.json").read_text(encoding="utf-8"))["data"]
    parts = [(article["title"], part) for article in articles for part in article["paragraphs"]]
    return every_second([(asked["question"].strip(), title) for title, part in parts for asked in part["qas"]], split)


@cache
def articles_of_paragraphs(split: str) -> Table:
    """The first words of paragraphs of Wikipedia; their class is the title of the article, one of 100."""
    with lzma.open(data_file("text", "enwiki-part.txt.xz"), "rt", encoding="utf-8") as file:
        articles = (part.splitlines() for part in file.read().split("\n\n"))
        long = [lines for lines in articles if len(lines) > PARAGRAPHS][:ARTICLES]
    pairs = [(" ".join(line.split()[:WORDS]), title) for title, *lines in long for line in lines]
    return every_second(pairs, split)


NSMC = ("ratings_train.txt", "ratings_test.txt"), {"document": "text", "label": "label"}
KORSTS = ("sts-train.tsv", "sts-dev.tsv"), {name: name for name in ("sentence1", "sentence2", "score")}
SETS: dict[str, tuple[str, Callable[[str], Table]]] = {  # what the labels are, and a reader of train and dev
    "sst2": ("labels, English", partial(texts, "sst2")),
    "cola": ("labels, English", partial(texts, "cola")),
    "nsmc": ("labels, Korean", partial(table, "nsmc", *NSMC)),
    "mrpc": ("labels of pairs, English", partial(texts, "mrpc")),
    "stsb": ("numbers of pairs, English", partial(texts, "stsb")),
    "korsts": ("numbers of pairs, Korean", partial(table, "korsts", *KORSTS)),
    "conll-types": ("several labels, English", types_of_entities),
    "wnut17": ("tags, English", partial(tagged, "wnut-17")),
    "squad-articles": ("48 labels, English", articles_of_questions),
    "wiki-articles": ("100 labels, English", articles_of_paragraphs),
}

"""SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018), from the official JSON, any JSON of its layout, or the Hub.

`squad-v1-by-article` divides the dev file of 1.1, which is small: for comparisons among our own runs.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from finetune.data import Source, hub_rows
from finetune.data.file_format import FileFormat
from finetune.data.formats.json_document import FORMAT, load_json, questions
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.task_types import Rows, SpanRow, SpanTask
from finetune.task_types.span.columns import located

SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass
class AnswerFixes:
    """Wrong answer positions, by question id."""

    moved: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def notes(self, origin: str) -> tuple[str, ...]:
        """A note for each kind, with a count and the first ids."""
        kinds = {
            "answer_start was wrong, and was fixed since the text occurs once nearby": self.moved,
            "answer_start is wrong and the text does not occur exactly once nearby": self.lost,
        }
        return tuple(
            f"{origin}: {so_many(len(ids), 'question')} whose {kind}, first {', '.join(ids[:3])}"
            for kind, ids in kinds.items()
            if ids
        )


@dataclass(frozen=True, kw_only=True)
class Squad:
    """Reads one version of SQuAD: `Squad(...)(source, split)` returns its rows.

    `splits` gives each split's file and its name on the Hub, `key` what the ids of questions are called.
    """

    splits: Mapping[str, tuple[str, str]]
    repository: str
    config: str
    folders: tuple[str, ...] = ("squad", "SQuAD")
    key: str = "id"

    def __call__(self, source: Source, split: str) -> Rows:
        """The rows of a split, from the folder that the user named, else from the Hub."""
        if split not in self.splits:
            raise UserError(f"{self.repository} has no split '{split}'", f"It has {', '.join(self.splits)}")
        file, hub_split = self.splits[split]
        folder = source.find(self.folders, holds=file)
        if folder is not None:
            return read_squad(folder / file, key=self.key)
        fixes = AnswerFixes()
        rows = [
            _row(fields[self.key], fields["title"], fields["context"], fields["question"], _hub_answers(fields), fixes)
            for fields in hub_rows(self.repository, self.config, hub_split, looked_for=file)
        ]
        origin = f"{self.repository} ({hub_split})"
        return Rows(rows=rows, origin=origin, notes=fixes.notes(origin))


ARTICLES = 5  # to one of dev


@dataclass(frozen=True, kw_only=True)
class ByArticle:
    """Reads train and dev from the dev file of a version of SQuAD: the hash of an article's title decides."""

    read: Squad

    def __call__(self, source: Source, split: str) -> Rows:
        """The rows of a split. Raises UserError as SQuAD's reader does."""
        if split not in ("train", "dev"):
            raise UserError(f"SQuAD by article has no split '{split}'", "It has train, dev")
        loaded = self.read(source, "dev")
        rows = [row for row in loaded.rows if drawn_by_hash(row.title, of=ARTICLES) == (split == "dev")]
        return replace(loaded, rows=rows)


def drawn_by_hash(text: str, *, of: int) -> bool:
    """Whether the hash of a text draws it, as it does one in `of`."""
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % of == 0


def read_squad(path: Path, *, key: str = "id") -> Rows:
    """The questions of a JSON file in SQuAD's layout, in any language; `key` is what their ids are called.

    Raises UserError for invalid JSON, for what the layout lacks, with its path, and for a duplicate id.
    A wrong `answer_start` is fixed where the text occurs once nearby, and counted.
    """
    fixes, rows = AnswerFixes(), []
    seen: dict[str, str] = {}
    for where, title, context, question in _questions(path):
        name = _get(question, key, str, where)
        if name in seen:
            raise UserError(f"{where}: the id '{name}' is also that of {seen[name]}", "Make the ids distinct")
        seen[name] = where
        answers = None if "answers" not in question else _get(question, "answers", list, where)
        hub_questions = [
            (_get(answer, "text", str, where), _get(answer, "answer_start", int, where)) for answer in answers or []
        ]
        if answers is not None and bool(answers) == question.get("is_impossible", not answers):
            counts = f"{so_many(len(answers), 'answer')} and is_impossible {json.dumps(question['is_impossible'])}"
            raise UserError(f"{where}: question '{name}' has {counts}", "Fix one of the two")
        text = _get(question, "question", str, where)
        rows.append(_row(name, title, context, text, None if answers is None else hub_questions, fixes))
    return Rows(rows=rows, origin=str(path), notes=fixes.notes(str(path)))


def _questions(path: Path) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yields (path in the file, title, context, question) of every question."""
    content = load_json(path, FileFormat(format=FORMAT, encoding="utf-8-sig"))
    for where, paragraph, question in questions(_get(content, "data", list, str(path))):
        if isinstance(question, str):
            raise UserError(f"{path}: {question}", "Compare with the official files")
        context = _get(question, "context", str, f"{path}: {paragraph}")
        if not context.strip():
            raise UserError(f"{path}: {paragraph}: the context is empty", "Fill it in, or remove the paragraph")
        yield f"{path}: {where}", str(question["title"]), context, question


def _get(table: Any, key: str, kind: type, where: str) -> Any:
    if not isinstance(table, dict) or not isinstance(table.get(key), kind):
        raise UserError(f"{where}: has no '{key}' of type {kind.__name__}", "Compare with the official files")
    if kind is str and not table[key].isprintable() and SURROGATE.search(table[key]):
        raise UserError(f"{where}: '{key}' has a lone surrogate (half a character)", "Fix that text")
    return table[key]


def _hub_answers(fields: Mapping[str, Any]) -> list[tuple[str, int]]:
    """(text, start) of each answer; none of a question marked as impossible, where KLUE's are only plausible."""
    answers = fields["answers"]
    return [] if fields.get("is_impossible") else list(zip(answers["text"], answers["answer_start"], strict=True))


def _row(
    name: str, title: str, context: str, question: str, answers: list[tuple[str, int]] | None, fixes: AnswerFixes
) -> SpanRow:
    start = _start(name, context, *answers[0], fixes) if answers else None
    texts = None if answers is None else tuple(text for text, _ in answers)
    return SpanRow(id=name, title=title, question=question, context=context, answers=texts, start=start)


def _start(name: str, context: str, text: str, start: int, fixes: AnswerFixes) -> int | None:
    """The character at which an answer begins; records in `fixes` what was wrong."""
    place = located(context, text, start)
    if place is None:
        fixes.lost.append(name)
    elif place != start:
        fixes.moved.append(name)
    return place


SQUAD_1 = Squad(
    splits={"train": ("train-v1.1.json", "train"), "dev": ("dev-v1.1.json", "validation")},
    repository="rajpurkar/squad",
    config="plain_text",
)

TASKS = [
    SpanTask(name="squad-v1", read=SQUAD_1),
    SpanTask(name="squad-v1-by-article", read=ByArticle(read=SQUAD_1)),
    SpanTask(
        name="squad-v2",
        unanswerable=True,
        read=Squad(
            splits={"train": ("train-v2.0.json", "train"), "dev": ("dev-v2.0.json", "validation")},
            repository="rajpurkar/squad_v2",
            config="squad_v2",
        ),
    ),
]

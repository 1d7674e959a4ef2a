"""What a layout of files is, what a careful person reads in it, and what the tool makes of it."""

import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from finetune.checks.all_checks import data_findings
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous, single_settings
from finetune.task_types.own_data import own_task

CLASSES = {  # folder in layouts/: title
    "plain-tables": "plain tables",
    "words-with-tags": "words with tags in columns",
    "character-spans": "entities as character spans",
    "marked-spans": "two spans of a text",
    "numbers-and-lists": "numbers, commas, several labels",
    "rival-labels": "several columns that could be the label",
    "ids-and-dates": "ids, counters, dates and urls",
    "more-fields": "more fields than the header",
    "objects": "objects as labels",
    "labelled-lines": "the label in the line, other suffixes, folders",
    "names-of-files": "names of files",
    "formulas": "texts that begin like a formula",
    "one-label": "one label only, or none",
    "looks-damaged": "texts that look damaged and are not",
}
MOST_QUESTIONS = 4  # that a user answers before giving up
COMMAND = re.compile(r"\b(?:paste|awk|sed|cut) .+? > (\w+(?:\.\w+)*)")
MOST_SECONDS = 30  # to read one file; no layout takes more than one


@dataclass(frozen=True)
class Text:
    """A text or a pair, with a label's name, a number, or the names of several labels."""

    text: str
    pair: str | None
    label: str | float | tuple[str, ...]


@dataclass(frozen=True)
class Tagged:
    """Words with their tags in IOB2."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Marked:
    """A text with entities by characters. What touches one of the places `open` is not compared: careful people
    differ about a mark that cuts a word or overlaps another one.
    """

    text: str
    spans: tuple[tuple[int, int, str], ...]
    open: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Asked:
    """A question about a context, its answers, and the first character of the first one."""

    question: str
    context: str
    answers: tuple[str, ...]
    start: int | None


@dataclass(frozen=True)
class Chosen:
    """A context, its choices, and the number of the right one, from 0."""

    context: str
    choices: tuple[str, ...]
    right: int


Row = Text | Tagged | Marked | Asked | Chosen


@dataclass(frozen=True, kw_only=True)
class Written:
    """What to give to the tool, and the rows that a careful person reads in it.

    `or_rows` are other readings that are as good, `converted` those of a file that a command in a message writes.
    """

    path: Path
    rows: Sequence[Row]
    or_rows: Sequence[Sequence[Row]] = ()
    converted: Sequence[Row] = ()


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A way to lay out rows in files: `kind` is its class.

    `answers` are the settings that answer the tool's question ({folder} is where the files are). With `must_ask`
    nobody could tell without them. Where nothing can be trained, the message must match `refused`. `least` is how many
    rows there must be.
    """

    name: str
    kind: str
    language: str
    write: Callable[[Path], Written]
    answers: Mapping[str, str] = field(default_factory=dict)
    must_ask: bool = False
    refused: str = ""
    least: int = 40


@dataclass(frozen=True)
class Outcome:
    """How the tool did, and what was seen where it was not right."""

    verdict: Literal["right", "asks", "wrong"]
    seen: str = ""


def outcome(layout: Layout, folder: Path) -> Outcome:
    """Writes the files and reads them as a user would who gives every setting that is asked for, and no other, and
    runs a command that converts the file.
    """
    written = layout.write(folder)
    given: dict[str, str] = {}
    asked = ""
    for _ in range(MOST_QUESTIONS):
        try:
            with _at_most(MOST_SECONDS):
                found = read(written, given)
        except UserError as error:
            asked = str(error)
            named = {name: value for name, value in layout.answers.items() if f"{name}=" in asked and name not in given}
            if layout.refused:
                return Outcome("asks" if re.search(layout.refused, asked) else "wrong", asked)
            if not named and not given and (converted := _converted(asked, folder)):
                written = replace(written, path=converted, rows=written.converted or written.rows)
                continue
            if not named:
                return Outcome("wrong", f"stops after {given or 'no setting'}: {asked}")
            if isinstance(error, Ambiguous) and not any(_agrees(choice, named) for choice, _ in error.choices):
                return Outcome("wrong", f"the right answer {named} is not offered: {asked}")
            given |= {name: value.format(folder=folder) for name, value in named.items()}
        except Exception as error:
            return Outcome("wrong", f"{type(error).__name__} after {given or 'no setting'}: {error}")
        else:
            return _judged(layout, written, found, given, asked)
    return Outcome("wrong", f"asks again after {given}: {asked}")


def _agrees(choice: str, answers: Mapping[str, str]) -> bool:
    """Whether a choice of a question says nothing else than the answers, where both name a setting."""
    chosen = dict(setting.split("=", 1) for setting in single_settings(choice))
    same = [sorted(chosen[name].split(",")) == sorted(answers[name].split(",")) for name in chosen if name in answers]
    return bool(same) and all(same)


@contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    """Raises TimeoutError in code that takes longer, such as a pattern that tries every way to part a text."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _judged(layout: Layout, written: Written, found: list[Row], given: Mapping[str, str], asked: str) -> Outcome:
    after = f" after {dict(given)}" if given else ""
    if not any(same(found, rows) for rows in (written.rows, *written.or_rows)):
        return Outcome("wrong", difference(found, written.rows) + after)
    if (layout.must_ask and not asked) or layout.refused:
        return Outcome("wrong", "was read without a question, though nobody could tell")
    return Outcome("asks", asked) if asked else Outcome("right")


def _converted(message: str, folder: Path) -> Path | None:
    """The file that a command in a message writes, such as `paste labels texts > rows.tsv`; else None."""
    if not (command := COMMAND.search(message)) or (file := folder / command[1]).exists():
        return None
    subprocess.run(command[0], shell=True, check=True, cwd=folder)
    return file


def read(written: Written, settings: Mapping[str, str]) -> list[Row]:
    """The rows that the tool reads for training and for dev."""
    task = own_task(str(written.path), settings)
    data_findings(task)
    form = type(written.rows[0]) if written.rows else Text
    return [plain(row, form) for split in ("train", "dev") for row in task.load(Source(), split).rows]


def plain(row: Any, form: type[Row]) -> Row:
    """A row of the tool as one of these; of words with places those that the expected rows have."""
    match type(row).__name__:
        case "SpanRow":
            return Asked(row.question, row.context, tuple(row.answers), row.start)
        case "ChoiceRow":
            return Chosen(row.context, tuple(row.choices), row.gold)
        case "TaggingRow":
            return _marked(row) if form is Marked else Tagged(tuple(row.words), tuple(row.gold))
        case "OverlapRow":
            return Marked(row.text, tuple(row.gold))
    label = tuple(sorted(row.gold)) if isinstance(row.gold, tuple) else row.gold
    return Text(row.text.strip(), None if row.pair is None else row.pair.strip(), label)


def _marked(row: Any) -> Marked:
    """The entities in the text that the words come from, or in the words one right after the other."""
    text = getattr(row, "text", "") or "".join(row.words)
    starts = getattr(row, "starts", ()) or [sum(map(len, row.words[:number])) for number in range(len(row.words))]
    spans: list[tuple[int, int, str]] = []
    for word, start, tag in zip(row.words, starts, row.gold, strict=True):
        prefix, _, kind = tag.partition("-")
        if prefix == "B":
            spans.append((start, start + len(word), kind))
        elif prefix == "I":
            spans[-1] = (spans[-1][0], start + len(word), kind)
    return Marked(text, tuple(spans))


def same(found: Iterable[Row], expected: Sequence[Row]) -> bool:
    """Whether both are the same rows in any order."""
    return Counter(_comparable(found, expected)) == Counter(_comparable(expected, expected))


def difference(found: Sequence[Row], expected: Sequence[Row]) -> str:
    """How many rows there are, and the first of each side that the other lacks."""
    have, want = Counter(_comparable(found, expected)), Counter(_comparable(expected, expected))
    missing, extra = [*(want - have)], [*(have - want)]
    return f"{have.total()} rows, not {want.total()}; read {extra[:1]!r:.300}, expected {missing[:1]!r:.300}"


def _comparable(rows: Iterable[Row], expected: Sequence[Row]) -> list[Row]:
    """The rows with stripped texts and sorted labels, and of entities those that all would read alike."""
    opened = {row.text: row.open for row in expected if isinstance(row, Marked) and row.open}
    return [_without_open(row, opened) for row in map(_stripped, rows)]


def _stripped(row: Row) -> Row:
    if not isinstance(row, Text):
        return row
    label = tuple(sorted(row.label)) if isinstance(row.label, tuple) else row.label
    return Text(row.text.strip(), None if row.pair is None else row.pair.strip(), label)


def _without_open(row: Row, opened: Mapping[str, Sequence[tuple[int, int]]]) -> Row:
    if not isinstance(row, Marked):
        return row
    places = opened.get(row.text, ())
    kept = [span for span in row.spans if not any(span[0] < end and start < span[1] for start, end in places)]
    return replace(row, spans=tuple(sorted(kept)), open=())

"""Texts that a task is scored on, and that its encoder has read in pre-training."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from finetune.checks.finding import FileFinding
from finetune.commands.check.earlier_runs import Earlier
from finetune.data.characters import same_text
from finetune.data.documents import Document
from finetune.data.issues import Issue
from finetune.data.messages import noun, percent, shown
from finetune.data.rows import Row
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.prepare import load_splits
from finetune.task_types.pretraining.task import TextTask
from finetune.task_types.task import Task
from finetune.task_types.types import type_of

TEST = "test"

READ_BEFORE = Issue(
    code="read-before",
    severity="warning",
    meaning="texts of dev or test that the encoder has read in pre-training",
    remedy="Remove them from the text that it was pre-trained on, or from the split: their scores may be too good",
)
UNKNOWN_CORPUS = Issue(
    code="unknown-corpus",
    severity="note",
    meaning="the text that the encoder was pre-trained on is gone or changed, so texts of dev in it are not counted",
    remedy="Put it back where the run read it, unchanged",
)
ISSUES = (READ_BEFORE, UNKNOWN_CORPUS)


@dataclass(kw_only=True)
class ReadBefore:
    """For each corpus how many texts of each split are in it, `{corpus.txt: {dev: 3 of 872}}`, and findings."""

    facts: dict[str, dict[str, str]] = field(default_factory=dict)
    findings: list[FileFinding] = field(default_factory=list)


def read_before(
    task: Task, earlier: Iterable[Earlier], source: Source, *, limit: int | None = None, name: str = ""
) -> ReadBefore:
    """Counts texts of dev and test that equal a line or a document of the corpora that earlier runs read.

    Equal but for white space, case and Unicode's forms. A corpus is read as a stream; in memory are the texts alone.
    `name` is that of the task's data, for findings.
    """
    found = ReadBefore()
    texts: dict[str, dict[str, str]] = {}
    for one in () if isinstance(task, TextTask) else earlier:
        try:
            documents = one.documents(source)
            if documents is None:
                continue
            texts = texts or _texts(task, source, limit)
            seen = _occurring(set().union(*texts.values()), documents)
        except UserError as error:
            found.findings.append(_unknown(one, error))
            continue
        found.facts[one.task] = {split: f"{len(own.keys() & seen):,} of {len(own):,}" for split, own in texts.items()}
        found.findings += [
            _finding(one.task, split, own, seen, name or task.name) for split, own in texts.items() if own.keys() & seen
        ]
    return found


def _texts(task: Task, source: Source, limit: int | None) -> dict[str, dict[str, str]]:
    """The different texts of each split that is scored, by how they are compared; a test split may be absent."""
    splits = load_splits(task, source, limit=limit, names=task.dev_splits)
    found = {name: _different(task, loaded.rows) for name, loaded in splits.items()}
    if TEST not in found:
        with suppress(UserError):
            found[TEST] = _different(task, task.load(source, TEST).rows)
    return found


def _different(task: Task, rows: Sequence[Row]) -> dict[str, str]:
    kind = type_of(task)
    least = 1 if kind is None else kind.least_words
    found: dict[str, str] = {}
    for row in rows:
        for text in _texts_of(task, row):
            same = same_text(text)
            if same.count(" ") + 1 >= least and same:
                found.setdefault(same, text)
    return found


def _texts_of(task: Task, row: Row) -> list[str]:
    """A row's texts: both of a pair, the question and the context, the context and each choice."""
    try:
        return [named.text for several in task.explainer.texts(row) for named in several]
    except UserError:  # a task of the user's own may not name them
        return [getattr(row, "input", "")]


def _occurring(wanted: set[str], documents: Iterable[Document]) -> set[str]:
    """Which texts equal a line of a document, or a whole one."""
    found: set[str] = set()
    for document in documents:
        lines = [same_text(line) for line in document.lines]
        found.update(line for line in (*lines, " ".join(lines)) if line in wanted)
    return found


def _finding(corpus: str, split: str, own: Mapping[str, str], seen: set[str], file: str) -> FileFinding:
    both = own.keys() & seen
    first = next(text for same, text in own.items() if same in seen)
    occur = noun(len(both), "occurs", "occur")
    what = f"{len(both):,} of {len(own):,} texts of {split} ({percent(len(both) / len(own))}) {occur} in {corpus}"
    return FileFinding.of(
        READ_BEFORE, f"{what}, which the encoder is pre-trained on, such as {shown(first, 60)}", file=file
    )


def _unknown(one: Earlier, error: UserError) -> FileFinding:
    what = f"texts of dev that are in the text of the encoder are not counted: {error.what}"
    return FileFinding.of(UNKNOWN_CORPUS, what, file=one.task)

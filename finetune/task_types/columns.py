"""What a table's columns mean: the task type, the inputs, and the label columns; and why a record makes no row."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from finetune.data.column_types import NOTHING
from finetune.data.formats.word_lines import FormOfTags, TagForm
from finetune.data.issues import Finding, Issue
from finetune.data.messages import short
from finetune.data.table import cell_at
from finetune.data.values import as_text, is_missing, is_nested, tags_of

OPTIONS = {
    "shape": "the task type; guessed from the columns",
    "text": "the column of the text; A,B: a pair, or the inputs of another type in order; A+B joins columns",
    "label": "the column of the label, or a field of it; several are columns of 0 and 1",
    "labels": "names of numbered labels: 0=bad,1=good, or a file with a name a line",
    "decimal": "the decimal sign, where the column leaves it open",
    "spans": "two spans of the text: two columns, or two markers; none",
    "span_ends": "whether the last character belongs to a span: inclusive or exclusive",
    "choices_by": "how labels name choices: text, letter, 0 or 1",
    "id": "the column of names of rows; else their numbers",
    "group": "a column: rows of one value stay together, in train or in dev",
    "dev": "a file of rows to score; else a tenth of the rows",
    "test": "a file of rows to score once, at the end",
    "split": "the column that says of each row train or dev, or the split.json of a run",
    "encoding": "of the files, where it cannot be told",
    "sheet": "of an Excel file",
    "keep": "labels to train on although they look like a mistake; all",
    "drop": "labels whose rows are left out",
    "order": "the labels from lowest to highest; none",
    "levels": "taken out",
}  # of data, and what each says
NAMELESS = re.compile(r"column \d+")


def unusable(code: str, meaning: str, remedy: str) -> Issue:
    """An issue of rows that are left out."""
    meaning, remedy = f"rows that cannot be used: {meaning}", f"{remedy}; such rows are left out"
    return Issue(code, "warning", meaning, remedy, worst="error")


MISSING_TEXT = unusable("missing-text", "a text is empty", "Fill them in, or drop them with `fix`")
NO_NUMBER = unusable("no-number", "the label of a regression is not a number", "Correct the number")
EMPTY_WORD = unusable("empty-word", "one of the words is empty", "Take the word and its tag out")
UNUSABLE = unusable("unusable", "any other reason", "Correct them")
SHARED = (MISSING_TEXT, NO_NUMBER, EMPTY_WORD, UNUSABLE)


class NoRow(Exception):
    """Why a record makes no row, in words that follow `row 5`; `fault` has the issue too."""

    def __init__(self, what: str, issue: Issue = UNUSABLE) -> None:
        super().__init__(what)
        self.fault = Finding(issue, what)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The task type (`shape`), and its columns: `text` are the inputs in order, `label` the label.

    For a span task the inputs are question and context, for a choice task the context (the first `contexts` columns)
    and then the choices, or one column with a list of them, which labels count from 0 or 1, or name as `choices_by`
    says. Several `label` columns are labels, with 0 or 1 each. `labels` are the names of the labels;
    `unanswerable` says that some questions have no answer, and `reasons` what each guess is based on.

    `names` belong to labels that are numbers in the data, `decimal` is the decimal sign of numbers. `by_position`: a
    label cell has 0 or 1 for each label, whose `names` are in their order. `spans` are the keys of start, end and label
    where entities are spans of characters; `tag_form` and `outside` say how tags are written, `characters` that they
    are of single characters, and `signs_apart` that signs are words. `rest` are columns that a text runs on into,
    without a name or joined by the user, with `delimiter` between them; `no_label` is a sign that means none, and
    `mistakes` are labels that are left out, each with the reason. `marked` are the columns of two spans of the text,
    whose last character belongs to them or not (`span_ends`), and `markers` the opening markers of both in a row's
    text. `order` are labels from lowest to highest where they have an order. `rivals` are other columns that could hold
    the label. `file` says how the file was read.
    """

    shape: str
    text: tuple[str, ...]
    label: tuple[str, ...] = ()
    id: str = ""
    group: str = ""
    labels: tuple[str, ...] = ()
    separator: str = ""
    by_position: bool = False
    counted_from: int = 0
    choices_by: Literal["", "text", "letter", "number"] = ""
    unanswerable: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    decimal: Literal[".", ","] = "."
    spans: tuple[str, ...] = ()
    tag_form: FormOfTags = "prefix"
    outside: str = "O"
    characters: bool = False
    signs_apart: bool = False
    rest: tuple[str, ...] = ()
    delimiter: str = ","
    rivals: tuple[str, ...] = ()
    no_label: str = ""
    mistakes: Mapping[str, str] = field(default_factory=dict)
    contexts: int = 1
    marked: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    span_ends: Literal["", "inclusive", "exclusive"] = ""
    order: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    file: Mapping[str, Any] = field(default_factory=dict)

    def options(self) -> dict[str, Any]:
        """The layout as options of a recipe."""
        settings: dict[str, Any] = {"shape": self.shape, "text": self.text_setting, "label": ",".join(self.label)}
        settings |= {"spans": ",".join(self.marked or self.markers), "span_ends": self.span_ends}
        settings |= {"id": self.id, "group": self.group, "labels": dict(self.names)}
        settings |= {"decimal": self.decimal} if self.decimal != "." else {}
        return {name: value for name, value in settings.items() if value}

    def tags(self, cell: Any) -> list[str]:
        """The tags in a cell as O, B-X and so on: from a list, or a space-separated text."""
        form = TagForm(form=self.tag_form, outside=self.outside)
        return list(form.standards(self.names.get(tag, tag) for tag in tags_of(cell)))

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The text columns that a file must have: the columns that continue a text only if they have a name."""
        return (*self.text, *(name for name in self.rest if not NAMELESS.fullmatch(name)))

    @property
    def text_setting(self) -> str:
        """The columns of texts as the setting `text` has them: `title,body` a pair, `title+body` one text."""
        return ",".join(self.text) + "".join(f"+{name}" for name in self.text_columns[len(self.text) :])

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that a row is made of, without its label."""
        return (*self.text_columns, *self.marked)

    def lacks(self, cell: Any) -> bool:
        """Whether a label cell is empty."""
        return is_missing(cell) or (isinstance(cell, str) and cell.strip() in (*NOTHING, self.no_label))

    def named(self, label: str) -> str:
        """The name of a label that is a number, if it has one; else the label."""
        return self.names.get(label, label)

    def label_in(self, values: Mapping[str, Any]) -> Any:
        """The cell of the label in a record; None without a label."""
        return cell_at(values, self.label[0]) if self.label else None

    def text_of(self, values: Mapping[str, Any], name: str) -> str:
        """A text of a record (of a list its items, with spaces) and its continuation in other columns; may be empty.

        Raises NoRow for an object, and for a list of lists or objects.
        """
        columns = (name, *self.rest) if name == self.text[-1] else (name,)
        parts = [cell for column in columns if not is_missing(cell := cell_at(values, column))]
        if nested := [cell for cell in parts if not isinstance(cell, str) and is_nested(cell)]:
            raise NoRow(f"has {short(nested[0])} in the column '{name}'; expected a text")
        return self.delimiter.join(" ".join(map(as_text, p)) if isinstance(p, list) else as_text(p) for p in parts)


def own_data(task: Any) -> Any:
    """A task's reader, an OwnData, if it reads user data; else None."""
    reader = getattr(task, "read", None)
    return reader if getattr(reader, "has_columns", False) else None


def checking(typed: Sequence[str], *, fix: bool = False) -> str:
    """`finetune check reviews.csv test=test.csv --fix fixed.csv` for words behind `finetune run`; empty for none."""
    data = [word for word in typed if "=" not in word or word.partition("=")[0].removeprefix("options.") in OPTIONS]
    return shlex.join(["finetune", "check", *data, *(["--fix", "fixed.csv"] if fix else [])]) if data else ""

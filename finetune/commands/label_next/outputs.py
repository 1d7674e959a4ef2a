"""What is written for a labelling tool: tasks of Label Studio, documents of doccano, or a table."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from finetune.data.formats.registry import BY_SUFFIX
from finetune.data.nested_fields import cell_at
from finetune.data.outputs import output_file
from finetune.data.rows import Row
from finetune.data.values import as_text
from finetune.data.writing import write_rows, written_suffix
from finetune.errors import UserError, nearest
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import DataType
from finetune.task_types.labelling import Labelling
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task

LABEL_STUDIO, DOCCANO, TABLE = "label-studio", "doccano", "table"
ENDINGS = {".json": LABEL_STUDIO, ".jsonl": DOCCANO}
SUFFIXES = {
    LABEL_STUDIO: (".json",),
    DOCCANO: (".jsonl",),
    TABLE: (".csv", *(s for s in BY_SUFFIX if s not in (".csv", ".json"))),
}
TO = {LABEL_STUDIO: "Label Studio", DOCCANO: "doccano", TABLE: "a table"}
PLAIN = (str, int, float, bool)
SUGGESTED = "suggested "  # begins the name of the column of suggestions in a table


@dataclass(frozen=True, kw_only=True)
class Item:
    """A row to write: its cells, and its prediction, or its label if it is `labelled`.

    `facts` are cells of our own: why it was chosen, how sure its prediction is, whether it is of dev.
    """

    values: Mapping[str, Any]
    row: Row
    answer: Answer
    labelled: bool
    facts: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class LabellingTarget:
    """Where and how rows are written: for which tool, with which columns, labelled how."""

    tool: str
    path: Path
    kind: DataType
    task: Task
    layout: Layout
    labelling: Labelling
    model: str

    @property
    def label(self) -> str:
        """The column of the label, and the name of the control in a tool."""
        return self.layout.label[0] if len(self.layout.label) == 1 else "label"

    @property
    def config(self) -> Path:
        """The file of Label Studio's labelling interface."""
        return self.path.with_suffix(".xml")

    def settings(self) -> dict[str, str]:
        """The settings with which `run` reads the columns of what is exported from the tool."""
        shape = self.kind.name
        if self.tool == DOCCANO:
            return {"shape": shape, "text": "text", "label": "label"}
        labels = ",".join(self.layout.label) if self.tool == TABLE and self.layout.label else self.label
        return {"shape": shape, "text": ",".join(self.layout.text), "label": labels}


def tool_of(path: Path, to: str | None) -> str:
    """The tool that is named, or that an ending means. Raises UserError for a name that is none."""
    if to is not None and to not in TO:
        raise UserError(f"rows are not written for '{to}'", f"{nearest(to, [*TO])}Choose one of {', '.join(TO)}")
    tool = to or ENDINGS.get(written_suffix(path), TABLE)
    if written_suffix(path) not in SUFFIXES[tool]:
        some = ", ".join(SUFFIXES[tool])
        raise UserError(f"{path}: rows for {TO[tool]} are written as {some}", "Name a file with such an ending")
    return tool


def require_tool(target: LabellingTarget) -> None:
    """Raises UserError where such rows cannot be labelled in the tool, with those in which they can."""
    labelling, several = target.labelling, len(target.layout.text) > 1
    fits = {
        LABEL_STUDIO: labelling.in_tools,
        DOCCANO: labelling.in_tools and labelling.how != "number" and not several,
        TABLE: labelling.in_cells,
    }
    if not fits[target.tool]:
        others = [f"{SUFFIXES[tool][0]} ({TO[tool]})" for tool in fits if fits[tool]]
        why = "it shows one text, and knows no numbers" if target.tool == DOCCANO else "it has no way to mark them"
        raise UserError(
            f"{target.kind.name} rows cannot be labelled in {TO[target.tool]}: {why}",
            f"Name a file that ends with {' or '.join(others)}",
        )


def write_items(target: LabellingTarget, items: Callable[[], Iterable[Item]]) -> Sequence[Path]:
    """Writes the rows, and what the tool needs besides; returns the files."""
    return WRITERS[target.tool](target, items)


def _label_studio(target: LabellingTarget, items: Callable[[], Iterable[Item]]) -> list[Path]:
    with output_file(target.path) as scratch, scratch.open("w", encoding="utf-8") as file:
        for number, item in enumerate(items()):
            file.write("[\n" if number == 0 else ",\n")
            file.write(json.dumps(_studio_task(target, item), ensure_ascii=False))
        file.write("\n]\n")
    with output_file(target.config) as scratch:
        scratch.write_text(studio_config(target), encoding="utf-8")
    return [target.path, target.config]


def _studio_task(target: LabellingTarget, item: Item) -> dict[str, Any]:
    result = [_studio_result(target, value) for value in _studio_values(target, item)]
    data = {"data": {**_shown(target, item), **item.facts}}
    if item.labelled:
        return {**data, "annotations": [{"result": result}]}
    sure = item.facts.get("certainty")
    score = {"score": sure} if sure is not None else {}
    return {**data, "predictions": [{"model_version": target.model, **score, "result": result}]}


def _studio_values(target: LabellingTarget, item: Item) -> Iterator[dict[str, Any]]:
    """The values of a row's regions, as Label Studio has them."""
    marks, how = target.labelling.marks(item.answer, item.row), target.labelling.how
    if how == "number":
        yield {"number": marks[0]}
    elif how == "characters":
        text = _shown(target, item)[target.labelling.marked]
        yield from ({"start": a, "end": b, "text": text[a:b], "labels": [name]} for a, b, name in marks)
    elif marks:
        yield {"choices": [*marks]}


def _studio_result(target: LabellingTarget, value: Mapping[str, Any]) -> dict[str, Any]:
    control = {"number": "number", "characters": "labels"}.get(target.labelling.how, "choices")
    on = target.labelling.marked or target.layout.text[0]
    return {"from_name": target.label, "to_name": on, "type": control, "value": dict(value)}


def studio_config(target: LabellingTarget) -> str:
    """The labelling interface: the texts, and the control of the labels."""
    labelling, label = target.labelling, quoteattr(target.label)
    on = quoteattr(labelling.marked or target.layout.text[0])
    texts = [f"  <Header value={quoteattr(name)}/>\n  <Text name={quoteattr(name)} value={quoteattr(f'${name}')}/>"
             for name in target.layout.text]  # fmt: skip
    each = "Label" if labelling.how == "characters" else "Choice"
    names = "\n".join(f"    <{each} value={quoteattr(name)}/>" for name in labelling.names)
    several = ' choice="multiple"' * (labelling.how == "several")
    control = {
        "number": f"  <Number name={label} toName={on}/>",
        "characters": f"  <Labels name={label} toName={on}>\n{names}\n  </Labels>",
    }.get(labelling.how, f"  <Choices name={label} toName={on}{several}>\n{names}\n  </Choices>")
    return "\n".join(["<View>", *texts, control, "</View>", ""])


def _doccano(target: LabellingTarget, items: Callable[[], Iterable[Item]]) -> list[Path]:
    column = target.layout.text[0]
    with output_file(target.path) as scratch, scratch.open("w", encoding="utf-8") as file:
        for item in items():
            shown = _shown(target, item)
            others = {name: cell for name, cell in shown.items() if name not in (column, "text", "label", "id")}
            marks = [list(m) if isinstance(m, tuple) else m for m in target.labelling.marks(item.answer, item.row)]
            document = {"text": shown[column], "label": marks, **others, **item.facts}
            file.write(json.dumps(document, ensure_ascii=False) + "\n")
    return [target.path]


def _shown(target: LabellingTarget, item: Item) -> dict[str, Any]:
    """The cells that a tool shows or keeps: the texts, and other plain ones, without the label's."""
    layout = target.layout
    kept = {
        name: cell
        for name, cell in item.values.items()
        if isinstance(cell, PLAIN) and name not in (*layout.label, target.label)
    }
    texts = {name: as_text(cell_at(item.values, name)) for name in layout.text}
    return {**kept, **texts, **target.labelling.texts(item.row)}


def _table(target: LabellingTarget, items: Callable[[], Iterable[Item]]) -> list[Path]:
    labels = target.layout.label or (target.label,)
    suggested = f"{SUGGESTED}{target.label}"
    names = dict.fromkeys([*target.layout.text, *labels, suggested])
    for item in items():
        names |= dict.fromkeys([*item.facts, *item.values])
    spelled = {name: raw for raw, name in target.layout.names.items()}

    def rows() -> Iterator[dict[str, Any]]:
        for item in items():
            if item.labelled:
                yield {**item.values, **item.facts}
                continue
            cell = target.kind.cells(target.task, target.layout, item.answer, item.row)["prediction"]
            if target.labelling.how == "one" and not isinstance(cell, list):
                (cell,) = target.labelling.marks(item.answer, item.row)
            if isinstance(cell, list):
                cell = (target.layout.separator or ", ").join(map(str, cell))
            empty = dict.fromkeys(labels, "")
            yield {**item.values, **empty, suggested: spelled.get(cell, cell), **item.facts}

    write_rows(target.path, Again(rows), [*names], escaped=[suggested])
    return [target.path]


@dataclass(frozen=True)
class Again:
    """Rows that can be iterated twice."""

    rows: Callable[[], Iterator[dict[str, Any]]]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.rows()


WRITERS: Mapping[str, Callable[[LabellingTarget, Callable[[], Iterable[Item]]], Sequence[Path]]] = {
    LABEL_STUDIO: _label_studio,
    DOCCANO: _doccano,
    TABLE: _table,
}

"""Guesses what a table's columns mean, from names, types and values, and why; where two readings fit, it asks."""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from finetune.data.column_types import ColumnFacts, facts_of
from finetune.data.label_names import names_given, names_nearby
from finetune.data.table import Table
from finetune.errors import UserError, nearest
from finetune.task_types.candidates import best_label, label_candidates
from finetune.task_types.column_names import IDS, named
from finetune.task_types.columns import NAMED, Layout, Shape, found_labels, numbers_of
from finetune.task_types.guess_special import (
    choice_task,
    choices_by,
    contexts_in,
    counted_from,
    says_no_answer,
    span_task,
)
from finetune.task_types.guess_tags import require_tags, span_layout, tag_layout
from finetune.task_types.guess_texts import text_layout

ID_NAMES = IDS
INPUTS = {
    "span": "question,context label=answers",
    "tagging": "words label=tags",
    "choice": "context,choice1,choice2 label=answer",
}
ROLES = ("text", "label", "id", "group")  # settings that name columns


def guess(table: Table, given: Mapping[str, Any], *, labelled: bool = True) -> Layout:
    """What the columns mean, as far as `given` (the settings text, label, shape, id, group, labels, decimal) leaves it
    open. Without `labelled` no label is looked for that is not given.

    Raises UserError for a column that the table lacks, where no text can be found, and (as Ambiguous) where two
    readings are as likely.
    """
    facts = {name: facts_of(name, values) for name, values in table.columns.items()}
    parents = {name.rpartition(".")[0] for name in table.derived}
    facts |= {name: replace(facts[name], kind="object") for name in parents if name in facts}
    chosen = {name: named_columns(given[name], facts, name, table) for name in ROLES if given.get(name)}
    shape = _checked(given, "shape", get_args(Shape))
    decimal = _checked(given, "decimal", (",", "."))
    names = names_given(given["labels"]) if given.get("labels") else {}
    if not labelled:
        chosen = {"label": [], **chosen}
    if names:
        table = replace(table, names={**table.names, **dict.fromkeys(chosen.get("label") or table.columns, names)})
    layout = _special(table, facts, chosen, shape) or text_layout(table, facts, chosen, shape, decimal)
    layout = _with_roles(layout, facts, chosen)
    layout = _with_names(layout, table, names)
    if layout.shape == "choice" and layout.label:
        layout = replace(layout, counted_from=counted_from(layout, table.columns))
        layout = replace(layout, choices_by=choices_by(layout, table.columns))
    if layout.shape == "span" and layout.label:
        layout = replace(layout, unanswerable=any(map(says_no_answer, table.columns[layout.label[0]])))
    return replace(layout, labels=found_labels(layout, table.columns))


def named_columns(text: Any, facts: Collection[str], role: str, table: Table) -> list[str]:
    """The columns in `title,body`. Raises UserError with the nearest name for one that is not there."""
    text = unicodedata.normalize("NFC", str(text))
    names = [text] if text in facts else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in facts:
            raise UserError(
                f"{table.path}: has no column '{name}' ({role}={text})",
                f"{nearest(name, list(facts))}Its columns are {', '.join(list(facts)[:20])}",
            )
    return names


def _checked(given: Mapping[str, Any], name: str, allowed: Sequence[str]) -> Any:
    value = given.get(name)
    if value is not None and value not in allowed:
        raise UserError(f"{name} is '{value}'", f"{nearest(str(value), list(allowed))}It is one of {' '.join(allowed)}")
    return value


def _with_roles(layout: Layout, facts: Mapping[str, ColumnFacts], chosen: Mapping[str, list[str]]) -> Layout:
    """The layout with its columns of ids and groups."""
    free = [name for name in named(facts, IDS) if name not in (*layout.text, *layout.label)]
    ids = chosen.get("id") or [name for name in free if facts[name].unique and facts[name].kind != "empty"][:1]
    reasons = dict(layout.reasons) | {name: "given" for name in chosen if name not in layout.reasons}
    if ids and "id" not in chosen:
        reasons["id"] = "its name"
    return replace(layout, id="".join(ids[:1]), group="".join(chosen.get("group", ())[:1]), reasons=reasons)


def _with_names(layout: Layout, table: Table, names: Mapping[str, str]) -> Layout:
    """The layout with the names of labels that are numbers: those given, the file's own, or of a file next to it."""
    if layout.shape not in NAMED or len(layout.label) != 1 or layout.spans:
        if names:
            raise UserError(
                f"labels= names classes by number, and these are of the shape {layout.shape}", "Leave it out"
            )
        return layout
    if names:
        labels = numbers_of(layout, table.columns)
        if not labels & set(names):
            raise UserError(
                f"{table.path}: no label is one of the numbers that labels= names ({', '.join(list(names)[:5])})",
                f"The labels are {', '.join(sorted(labels)[:5])}",
            )
        return replace(layout, names=dict(names), reasons={**layout.reasons, "labels": "given"})
    if own := table.names.get(layout.label[0]):
        return replace(layout, names=dict(own), reasons={**layout.reasons, "labels": "the file's own names"})
    nearby, file = names_nearby(table.path, numbers_of(layout, table.columns))
    if file is None:
        return layout
    return replace(layout, names=nearby, reasons={**layout.reasons, "labels": f"the names in {file.name}"})


def _special(
    table: Table, facts: Mapping[str, ColumnFacts], chosen: Mapping[str, list[str]], shape: str | None
) -> Layout | None:
    """A layout for spans, tags or choices; None where neither the shape nor the columns are theirs."""
    for name in ("span", "tagging", "choice"):
        if shape not in (None, name) or (shape is None and "text" in chosen and name != "tagging"):
            continue
        found = _found(name, table, facts, chosen)
        if found is None and shape == name and "text" not in chosen:
            raise UserError(
                f"{table.path}: which columns a {name} task reads is not clear", f"Name them: text={INPUTS[name]}"
            )
        text = tuple(chosen.get("text") or (found.text if found else ()))
        if shape is None and found is not None and text != found.text:
            continue
        if found is not None or shape == name:
            label = tuple(chosen.get("label") or (found.label if found else ()))
            if found is None and name == "choice" and "label" not in chosen:
                best, _ = best_label(label_candidates(facts, table.columns, text), table.columns, file=str(table.path))
                label = best.columns if best else ()
            reasons = {} if shape == name or found is None else dict(found.reasons)
            reasons |= {role: "given" for role in ("text", "label") if chosen.get(role)}
            found = found or Layout(shape=name, text=text)
            contexts = contexts_in(text, facts) if name == "choice" and "text" in chosen else found.contexts
            return replace(found, text=text, label=label, contexts=contexts, reasons=reasons)
    if table.form.format.name == "word-lines" and shape is None:
        require_tags(
            {n: c for n, c in table.columns.items() if n not in ("document", *chosen.get("text", ()))}, str(table.path)
        )
    return None


def _found(name: str, table: Table, facts: Mapping[str, ColumnFacts], chosen: Mapping[str, list[str]]) -> Layout | None:
    if name == "span":
        return span_task(table.columns, facts)
    if name == "choice":
        return choice_task(facts, file=str(table.path))
    text, label = chosen.get("text", []), chosen.get("label", [])
    return span_layout(table.columns, facts, text, label) or tag_layout(
        table.columns, facts, label, text=text, names=table.names, file=str(table.path)
    )

"""Guesses what a table's columns mean, from names, types and values, with reasons; ambiguity is an error that asks."""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from finetune.data.column_types import facts_of
from finetune.data.label_names import names_given, names_nearby
from finetune.data.messages import so_many
from finetune.data.table import Table
from finetune.data.values import as_list, as_number, as_text, is_missing
from finetune.errors import UserError, nearest
from finetune.task_types.classification.guess import require_rows
from finetune.task_types.classification.spans import named_spans, with_spans
from finetune.task_types.column_names import id_names, named, text_tier
from finetune.task_types.columns import Layout
from finetune.task_types.own_type import Evidence, OwnType
from finetune.task_types.types import named_type, own_types

ROLES = ("text", "label", "id", "group")  # settings that name columns


def guess(table: Table, settings: Mapping[str, Any], *, labelled: bool = True) -> Layout:
    """Guesses what `settings` (settings such as text, label, shape, spans, id, group, labels) leaves open.

    Without `labelled` only a given label is used.

    Raises UserError for a column that the table lacks, where no text can be found, and (as Ambiguous) where two
    layouts are equally likely.
    """
    evidence = _evidence(table, settings, labelled=labelled)
    if labelled:
        require_rows(evidence)
    spans = named_spans(settings.get("spans", ""), table.columns, evidence.file)
    if spans or evidence.shape is None or _marks_spans(named_type(evidence.shape)):
        evidence = with_spans(evidence, spans, settings.get("span_ends", ""))
    names = names_given(settings["labels"]) if settings.get("labels") else {}
    if names:
        columns = evidence.chosen.get("label") or table.columns
        evidence = replace(evidence, table=replace(table, names={**table.names, **dict.fromkeys(columns, names)}))
    layout = _with_roles(_first_guess(evidence), evidence)
    if "joined" in evidence.chosen and not layout.rest:
        raise UserError(
            f"text={'+'.join([*evidence.chosen['text'], *evidence.chosen['joined']])} joins columns into one text, and"
            f" this data has shape={layout.shape}",
            "Name its columns with commas between them",
        )
    if evidence.choices_by and not layout.choices_by:
        raise UserError(
            f"choices_by= says how labels name choices, and no column has such labels (shape={layout.shape})",
            "Leave it out",
        )
    return _with_names(layout, evidence.table, names)


def labels_in_order(labels: Collection[str]) -> tuple[str, ...]:
    """Names of labels: numbers in numeric order, other names alphabetically."""
    numbers = {name: as_number(name) for name in labels}
    if all(number is not None for number in numbers.values()):
        return tuple(sorted(labels, key=lambda name: (numbers[name], name)))
    return tuple(sorted(labels))


def _marks_spans(kind: OwnType) -> bool:
    """Whether two spans of its texts may be marked."""
    return hasattr(kind.task_class, "spans")


def _evidence(table: Table, settings: Mapping[str, Any], *, labelled: bool) -> Evidence:
    """The input of the guess. Raises UserError for a setting that is not allowed, or names a missing column."""
    facts = {
        name: facts_of(name, values, dates=text_tier(name) not in (0, 1)) for name, values in table.columns.items()
    }
    facts |= {name: replace(facts[name], kind="category") for name in table.names if facts[name].kind == "number"}
    parents = {name.rpartition(".")[0] for name in table.derived}
    facts |= {name: replace(facts[name], kind="object") for name in parents if name in facts}
    chosen = {name: named_columns(settings[name], facts, name, table) for name in ROLES if settings.get(name)}
    if len(parts := settings.get("text", "").split("+")) > 1 and chosen["text"] == [part.strip() for part in parts]:
        chosen |= {"text": chosen["text"][:1], "joined": chosen["text"][1:]}
    shape, decimal = settings.get("shape"), settings.get("decimal")
    if shape is not None:
        named_type(shape)
    if decimal not in (None, ",", "."):
        raise UserError(f"decimal is '{decimal}'", f"{nearest(str(decimal), [',', '.'])}It is one of , .")
    if not labelled:
        chosen = {"label": [], **chosen}
    return Evidence(
        table=table, facts=facts, chosen=chosen, shape=shape, decimal=decimal, choices_by=settings.get("choices_by", "")
    )


def _first_guess(evidence: Evidence) -> Layout:
    """The guess of the type that the user named, or of the first type that finds its columns."""
    asked = list(own_types().values()) if evidence.shape is None else [named_type(evidence.shape)]
    if evidence.markers and not (asked := list(filter(_marks_spans, asked))):
        raise UserError(
            f"spans= marks two spans of a text, and shape={evidence.shape} has none", "Leave one of them out"
        )
    layouts = (kind.find(evidence) for kind in asked)
    return next(layout for layout in layouts if layout is not None)


def named_columns(text: Any, facts: Collection[str], role: str, table: Table) -> list[str]:
    """The columns in `title,body`, or in `title+body`. Raises UserError with the nearest name for a missing one."""
    text = unicodedata.normalize("NFC", str(text))
    sign = "+" if role == "text" and "," not in text else ","  # columns that are joined into one text, or several
    names = [text] if text in facts else [name.strip() for name in text.split(sign)]
    for name in names:
        if name not in facts:
            raise UserError(
                f"{table.path}: has no column '{name}' ({role}={text})",
                f"{nearest(name, list(facts))}Its columns are {', '.join(list(facts)[:20])}",
            )
    return names


def _with_roles(layout: Layout, evidence: Evidence) -> Layout:
    """The layout with its id and group columns."""
    facts, chosen = evidence.facts, evidence.chosen
    free = [name for name in named(facts, id_names()) if name not in (*layout.text, *layout.label)]
    ids = chosen.get("id") or [name for name in free if facts[name].unique and facts[name].kind != "empty"][:1]
    reasons = dict(layout.reasons) | {name: "given" for name in chosen if name not in layout.reasons}
    if ids and "id" not in chosen:
        reasons["id"] = "its name"
    return replace(layout, id="".join(ids[:1]), group="".join(chosen.get("group", ())[:1]), reasons=reasons)


def _with_names(layout: Layout, table: Table, names: Mapping[str, str]) -> Layout:
    """The layout with names for labels that are numbers, or 0 and 1 by position: given ones, the file's own, or from a
    file next to it. Raises UserError for given ones that do not fit.
    """
    usual = named_type(layout.shape).closed_labels and layout.label and not layout.spans
    saved = table.names.get(layout.label[0], {}) if usual else {}
    if not usual or len(layout.label) > 1:
        if names:
            raise UserError(f"labels= names classes by number, and this data has shape={layout.shape}", "Leave it out")
        return replace(layout, names=dict(saved))
    label, places = layout.label[0], layout.by_position
    written = {*layout.names} if places else _written(table.columns[label], layout.separator)
    chosen, why = (names, "given") if names else (saved, "the file's own names")
    if not chosen or (places and not names and len(saved) != len(written)):
        chosen, file = names_nearby(table.path, written)
        if file is None or (places and len(chosen) != len(written)):
            return layout
        why = f"the names in {file.name}"
    if places and len({*chosen.values()}) != len(written):
        raise UserError(
            f"labels= has {so_many(len({*chosen.values()}), 'different name')}, and the lists in the column '{label}' "
            f"are of {len(written)} labels",
            f"Give {len(written)} names, in the order of the lists",
        )
    if places:
        chosen = {str(at): chosen[key] for at, key in enumerate(sorted(chosen, key=lambda key: as_number(key) or 0))}
    elif names and written <= set(names.values()):  # the cells are names already
        return layout
    elif names and not written & set(names):
        raise UserError(
            f"{table.path}: no label is one of the numbers that labels= names ({', '.join(list(names)[:5])})",
            f"The labels are {', '.join(sorted(written)[:5])}",
        )
    return replace(layout, names=dict(chosen), reasons={**layout.reasons, "labels": why})


def _written(cells: Sequence[Any], separator: str) -> set[str]:
    """The labels as they are written: a cell, the items of a list or those with a separator, or numbers with blanks."""
    written = set[str]()
    for cell in cells:
        items = as_list(cell)
        if items is None:
            text = "" if is_missing(cell) else as_text(cell)
            numbers = text.split()
            items = text.split(separator) if separator else numbers if all(map(str.isdigit, numbers)) else [text]
        written.update(as_text(item).strip() for item in items)
    return written - {""}

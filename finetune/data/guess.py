"""Guesses what a table's columns mean, from names, types and values, and why; where two readings fit, it asks."""

import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from finetune.data.candidates import Candidate, best_label, best_texts, copied, label_candidates
from finetune.data.column_names import IDS, is_id_name, named
from finetune.data.guess_special import (
    choice_task,
    choices_by,
    contexts_in,
    counted_from,
    require_no_choices,
    says_no_answer,
    span_task,
)
from finetune.data.guess_tags import require_tags, span_layout, tag_layout
from finetune.data.kinds import ColumnFacts, as_text, facts_of, is_missing
from finetune.data.label_kinds import label_kind, separator_in
from finetune.data.label_names import names_given, names_nearby
from finetune.data.layout import NAMED, Layout, Shape, found_labels, numbers_of
from finetune.data.reading import Table, nameless_columns
from finetune.errors import UserError, nearest

ID_NAMES = IDS
INPUTS = {
    "span": "question,context label=answers",
    "tagging": "words label=tags",
    "choice": "context,choice1,choice2 label=answer",
}
RARE = 0.1  # share of the rows up to which `-` is no class
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
    layout = _special(table, facts, chosen, shape) or _texts(table, facts, chosen, shape, decimal)
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
    if table.form.kind == "columns" and shape is None:
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


def _texts(
    table: Table,
    facts: Mapping[str, ColumnFacts],
    chosen: Mapping[str, list[str]],
    shape: str | None,
    decimal: str | None,
) -> Layout:
    """A layout for one text or a pair, with labels, a number, or several labels."""
    reasons = {name: "given" for name in ("text", "label") if name in chosen}
    text, label, file = chosen.get("text"), chosen.get("label"), str(table.path)
    nameless = nameless_columns(table.path, table.form)
    rivals: list[Candidate] = []
    if label is None:
        taken = [*(text or ()), *nameless]
        candidates = label_candidates(facts, table.columns, taken)
        best, rivals = best_label(candidates, table.columns, file=file)
        label = list(best.columns) if best else []
        reasons["label"] = _why(best, candidates)
    _require_plain(label, facts, file)
    if text is None:
        free = {name: fact for name, fact in facts.items() if name not in nameless}
        found, reasons["text"] = best_texts(free, label, header=table.form.header, file=file)
        text = list(found)
    if not text:
        raise UserError(f"{file}: no column with texts was found", _columns_remedy("text", facts))
    if shape is None and "text" not in chosen:
        require_no_choices(facts, label, text, file)
    if len(text) > 2:
        raise UserError(
            f"{len(text)} text columns were given: {', '.join(text)}",
            "Give one, or two that make a pair; of a context and its choices say shape=choice",
        )
    rest = _rest(table, facts, text, label, nameless, given="text" in chosen)
    listed = tuple(f"{copied(one.setting)} ({one.what})" for one in rivals[:5])
    layout = Layout(
        shape="classification", text=tuple(text), rest=rest, delimiter=table.form.delimiter or ",", rivals=listed
    )
    if not label:
        return replace(layout, shape=shape or "classification", reasons=reasons)  # type: ignore[arg-type]
    no_label = _sign_of_none(table.columns[label[0]]) if len(label) == 1 else ""
    kind = label_kind(table.columns, facts, label, file=file, shape=shape, decimal=decimal)
    reasons["shape"] = "given" if shape else kind.why
    wanted: Any = shape or kind.shape
    separator = kind.separator
    if wanted == "multi-label" and not separator and len(label) == 1 and facts[label[0]].kind != "list":
        cells = [as_text(cell) for cell in table.columns[label[0]] if not is_missing(cell)]
        separator = separator_in(cells) or ("," if any("," in cell for cell in cells) else " ")
    no_label = no_label if wanted == "classification" else ""
    layout = replace(layout, shape=wanted, label=tuple(label), separator=separator)
    return replace(layout, decimal=kind.decimal, no_label=no_label, reasons=reasons)


def _sign_of_none(cells: Sequence[Any]) -> str:
    """`-` where it stands for no label, as in SNLI: rare, among labels that are words."""
    counts = Counter(as_text(cell).strip() for cell in cells if not is_missing(cell))
    rare = 0 < counts["-"] < RARE * counts.total()
    words = all(any(map(str.isalpha, label)) for label in counts if label != "-")
    return "-" if rare and words and len(counts) > 2 else ""


def _why(best: Candidate | None, candidates: Sequence[Candidate]) -> str:
    if best is None:
        return "none was found"
    if len(best.columns) > 1:
        return best.what
    return "its name" if best.level <= 2 else "the only column that could be one" if len(candidates) == 1 else best.what


def _require_plain(label: Sequence[str], facts: Mapping[str, ColumnFacts], file: str) -> None:
    """Raises UserError where a label is an object, with its fields."""
    for name in label:
        if facts[name].kind == "object":
            fields = [other for other in facts if other.startswith(f"{name}.")]
            raise UserError(
                f"{file}: the column '{name}' holds objects, not labels",
                f"Choose a field: {', '.join(copied(f'label={field}') for field in fields[:6])}",
            )


def _rest(
    table: Table, facts: Mapping[str, ColumnFacts], text: Sequence[str], label: Sequence[str], nameless: Sequence[str],
    *, given: bool,
) -> tuple[str, ...]:  # fmt: skip
    """Columns without a name that the text runs on into: all that follow it, where no other column does.

    Raises UserError where such columns hold texts and it is not clear what they belong to.
    """
    filled = [name for name in nameless if facts[name].kind != "empty" and name not in (*text, *label)]
    if not filled:
        return ()
    names = list(table.columns)
    after = names[names.index(text[-1]) + 1 :]
    if len(text) == 1 and set(after) <= set(nameless) and not set(after) & set(label):
        return tuple(after)
    texts = [name for name in filled if facts[name].kind == "text" and facts[name].words > 1]
    if texts and not given:
        example = next(as_text(cell) for cell in table.columns[texts[0]] if not is_missing(cell))
        raise UserError(
            f"{table.path}: {texts[0]} has no name in the header but holds texts such as '{example[:40]}'",
            f"Quote cells that hold the delimiter, or name the text: {copied(f'text={text[0]}')}",
        )
    return ()


def _columns_remedy(role: str, facts: Mapping[str, ColumnFacts]) -> str:
    shown = [name for name in facts if not is_id_name(name)] or list(facts)
    return f"Name it: {role}=COLUMN, one of {', '.join(shown[:20])}"

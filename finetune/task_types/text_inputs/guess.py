"""Guesses which columns are one text or a pair, and its label: classes, a number, or several labels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from finetune.data.column_types import ColumnFacts
from finetune.data.formats.delimited import dialect_of, nameless_columns
from finetune.data.table import Table
from finetune.data.values import as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.errors import UserError
from finetune.task_types.candidates import UNLIKELY, Candidate, best_label, copied, label_candidates
from finetune.task_types.column_names import is_id_name, named
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import Evidence
from finetune.task_types.text_candidates import best_texts
from finetune.task_types.text_inputs.label_kinds import CLASSES, NUMBER, SEVERAL, label_kind
from finetune.task_types.text_inputs.near_misses import require_no_objects, require_plain
from finetune.task_types.text_inputs.not_choices import require_no_choices
from finetune.task_types.text_inputs.spans import ends_of
from finetune.task_types.text_inputs.two_texts import require_label


def text_layout(evidence: Evidence) -> Layout:
    """A layout for one text or a pair, with labels, a number, or several labels.

    Raises UserError where no text is found, and (as Ambiguous) where two layouts are equally likely.
    """
    require_label(evidence)
    table, facts, chosen, file = evidence.table, evidence.facts, evidence.chosen, evidence.file
    reasons = {name: "given" for name in ("text", "label") if name in chosen}
    label, rivals, joined = chosen.get("label"), tuple[str, ...](), tuple(chosen.get("joined", ()))
    if label is None:
        label, rivals, reasons["label"] = _label(table, facts, (*chosen.get("text", ()), *joined))
    require_plain(label, facts, table)
    text = chosen.get("text")
    if text is None:
        text, reasons["text"] = _text(table, facts, label, evidence.shape)
    if not text:
        raise UserError(f"{file}: no column with texts was found", _columns_remedy("text", facts))
    if len(text) > 2:
        raise UserError(
            f"{len(text)} text columns were given: {', '.join(text)}",
            "Give one, or two that make a pair; for a context and its choices set shape=choice",
        )
    if evidence.markers and len(text) > 1:
        raise UserError(
            f"{file}: two spans are marked in one text, not in {' and '.join(text)}", "Name one: text=COLUMN"
        )
    rest = joined or _rest(table, facts, text, label, given="text" in chosen)
    delimiter = " " if joined else dialect_of(table.form).delimiter or ","
    layout = Layout(shape=evidence.shape or CLASSES, text=tuple(text), rest=rest, delimiter=delimiter, rivals=rivals)
    layout = _with_spans(_labelled(layout, evidence, label, reasons) if label else layout, evidence, reasons)
    return replace(layout, reasons=reasons)


def _with_spans(layout: Layout, evidence: Evidence, reasons: dict[str, str]) -> Layout:
    """The layout with its spans; adds the reason. Raises UserError for several labels of spans."""
    if not evidence.markers:
        return layout
    if layout.shape == SEVERAL:
        raise UserError(
            f"{evidence.file}: two marked spans have one label, and the labels are several", "Name one: label=COLUMN"
        )
    what = "their names, and spans in their cells" if evidence.marked else "markers in its texts"
    reasons["spans"] = "given" if evidence.spans_given else what
    ends = evidence.span_ends or ends_of(evidence.columns, evidence.marked, layout.text[0], evidence.file)
    return replace(layout, marked=evidence.marked, markers=evidence.markers, span_ends=ends)


def _label(
    table: Table, facts: Mapping[str, ColumnFacts], text: Sequence[str]
) -> tuple[list[str], tuple[str, ...], str]:
    """(the label's columns, settings for other candidates, why these)."""
    asked = named(facts, word_list("question")) if named(facts, word_list("context")) else []
    taken = [*text, *nameless_columns(table.path, table.form), *asked]  # a question about a context is never the label
    candidates = label_candidates(facts, table.columns, taken)
    if all(one.level > 1 for one in candidates):
        require_no_objects(table, facts)
    best, rivals = best_label(candidates, table.columns, file=str(table.path), header=dialect_of(table.form).header)
    listed = tuple(f"{copied(one.setting)} ({one.what})" for one in rivals[:5])
    return list(best.columns) if best else [], listed, _why(best, candidates)


def _text(
    table: Table, facts: Mapping[str, ColumnFacts], label: Sequence[str], shape: str | None
) -> tuple[list[str], str]:
    """(the text's columns, why these)."""
    file, nameless = str(table.path), nameless_columns(table.path, table.form)
    if shape is None:
        require_no_choices(facts, table.columns, label, (), file)
    free = {name: fact for name, fact in facts.items() if name not in nameless}
    found, why = best_texts(free, label, table.columns, header=dialect_of(table.form).header, file=file)
    if shape is None:
        require_no_choices(facts, table.columns, label, found, file)
    return list(found), why


def _labelled(layout: Layout, evidence: Evidence, label: Sequence[str], reasons: dict[str, str]) -> Layout:
    """The layout with its label, the task type, and how cells are read; adds the reasons."""
    given = evidence.shape
    kind = label_kind(
        evidence.columns, evidence.facts, label, file=evidence.file, shape=given, decimal=evidence.decimal
    )
    reasons["shape"] = "given" if given else kind.why
    shape = given or kind.shape
    if given in (CLASSES, NUMBER) and len(label) > 1:
        raise UserError(
            f"{evidence.file}: shape={given} reads one label, and the columns {', '.join(label)} are several",
            "Set shape=multi-label, or name one: label=COLUMN",
        )
    return replace(layout, shape=shape, label=tuple(label), separator=kind.separator, decimal=kind.decimal)


def _why(best: Candidate | None, candidates: Sequence[Candidate]) -> str:
    if best is None:
        return "none was found"
    if len(best.columns) > 1:
        return best.what
    likely = sum(one.level < UNLIKELY for one in candidates)
    return "its name" if best.level <= 2 else "the only column that could be one" if likely == 1 else best.what


def _rest(
    table: Table, facts: Mapping[str, ColumnFacts], text: Sequence[str], label: Sequence[str], *, given: bool
) -> tuple[str, ...]:
    """Columns without a name that continue the text: all that follow it, if no other column does.

    Raises UserError where such columns hold texts and it is not clear what they belong to.
    """
    nameless = nameless_columns(table.path, table.form)
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

"""Guesses which columns are one text or a pair, and its label: classes, a number, or several labels."""

from collections.abc import Sequence
from dataclasses import replace

from finetune.data.formats.delimited import dialect_of, nameless_columns
from finetune.data.values import as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.errors import UserError
from finetune.task_types.candidates import UNLIKELY, Candidate, best_label, copied, label_candidates
from finetune.task_types.classification.label_kinds import CLASSES, NUMBER, SEVERAL, label_kind
from finetune.task_types.classification.near_misses import require_label, require_no_objects, require_plain
from finetune.task_types.classification.not_choices import require_no_choices
from finetune.task_types.classification.spans import ends_of
from finetune.task_types.column_names import is_id_name, named
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import Evidence
from finetune.task_types.text_candidates import best_texts


def text_layout(evidence: Evidence) -> Layout:
    """A layout for one text or a pair, with labels, a number, or several labels.

    Raises UserError where no text is found, and (as Ambiguous) where two layouts are equally likely.
    """
    require_label(evidence)
    table, chosen, shape = evidence.table, evidence.chosen, evidence.shape
    nameless = nameless_columns(table.path, table.form)
    reasons = {name: "given" for name in ("text", "label") if name in chosen}
    label, joined = chosen.get("label"), tuple(chosen.get("joined", ()))
    text: Sequence[str] | None = chosen.get("text")
    rivals: list[Candidate] = []
    if label is None:
        best, rivals, reasons["label"] = _label(evidence, [*(text or ()), *joined, *nameless])
        label = list(best.columns) if best else []
    require_plain(label, evidence.facts, table)
    if text is None:
        if shape is None:
            require_no_choices(evidence, label, ())
        text, reasons["text"] = best_texts(evidence, [*label, *nameless])
        if shape is None:
            require_no_choices(evidence, label, text)
    _require_texts(evidence, text)
    kind = label_kind(evidence, label) if label else None
    if kind:
        reasons["shape"] = "given" if shape else kind.why
    layout = Layout(
        shape=shape or (kind.shape if kind else CLASSES),
        text=tuple(text),
        label=tuple(label),
        rest=joined or _rest(evidence, text, nameless, label),
        delimiter=" " if joined else dialect_of(table.form).delimiter or ",",
        rivals=tuple(f"{copied(rival.setting)} ({rival.what})" for rival in rivals[:5]),
        separator=kind.separator if kind else "",
        decimal=kind.decimal if kind else ".",
    )
    if shape in (CLASSES, NUMBER) and len(label) > 1:
        raise UserError(
            f"{evidence.file}: shape={shape} reads one label, and the columns {', '.join(label)} are several",
            "Set shape=multi-label, or name one: label=COLUMN",
        )
    if evidence.markers:
        what = "their names, and spans in their cells" if evidence.marked else "markers in its texts"
        reasons["spans"] = "given" if evidence.spans_given else what
        layout = _with_spans(layout, evidence)
    return replace(layout, reasons=reasons)


def _require_texts(evidence: Evidence, text: Sequence[str]) -> None:
    """Raises UserError unless there is one text, or two that are not marked."""
    if not text:
        names = [name for name in evidence.facts if not is_id_name(name)] or list(evidence.facts)
        raise UserError(
            f"{evidence.file}: no column with texts was found", f"Name it: text=COLUMN, one of {', '.join(names[:20])}"
        )
    if len(text) > 2:
        raise UserError(
            f"{len(text)} text columns were given: {', '.join(text)}",
            "Give one, or two that make a pair; for a context and its choices set shape=choice",
        )
    if evidence.markers and len(text) > 1:
        raise UserError(
            f"{evidence.file}: two spans are marked in one text, not in {' and '.join(text)}", "Name one: text=COLUMN"
        )


def _with_spans(layout: Layout, evidence: Evidence) -> Layout:
    """The layout with its two spans. Raises UserError for several labels of them."""
    if layout.shape == SEVERAL:
        raise UserError(
            f"{evidence.file}: two marked spans have one label, and the labels are several", "Name one: label=COLUMN"
        )
    ends = evidence.span_ends or ends_of(evidence, layout.text[0])
    return replace(layout, marked=evidence.marked, markers=evidence.markers, span_ends=ends)


def _label(evidence: Evidence, taken: Sequence[str]) -> tuple[Candidate | None, list[Candidate], str]:
    """(the label, other candidates, why this one)."""
    facts = evidence.facts
    asked = named(facts, word_list("question")) if named(facts, word_list("context")) else []
    candidates = label_candidates(evidence, [*taken, *asked])  # a question about a context is never the label
    if all(candidate.level > 1 for candidate in candidates):
        require_no_objects(evidence.table, facts)
    best, rivals = best_label(candidates, evidence)
    if best is None:
        return None, rivals, "none was found"
    if len(best.columns) > 1:
        return best, rivals, best.what
    likely = sum(candidate.level < UNLIKELY for candidate in candidates)
    only = "the only column that could be one" if likely == 1 else best.what
    return best, rivals, "its name" if best.level <= 2 else only


def _rest(evidence: Evidence, text: Sequence[str], nameless: Sequence[str], label: Sequence[str]) -> tuple[str, ...]:
    """Columns without a name that continue the text: all that follow it, if no other column does.

    Raises UserError where such columns hold texts and it is not clear what they belong to.
    """
    facts, names = evidence.facts, list(evidence.columns)
    filled = [name for name in nameless if facts[name].kind != "empty" and name not in (*text, *label)]
    after = names[names.index(text[-1]) + 1 :]
    if filled and len(text) == 1 and {*after} <= {*nameless} - {*label}:
        return tuple(after)
    texts = [name for name in filled if facts[name].kind == "text" and facts[name].words > 1]
    if texts and "text" not in evidence.chosen:
        example = next(as_text(cell) for cell in evidence.columns[texts[0]] if not is_missing(cell))
        raise UserError(
            f"{evidence.file}: {texts[0]} has no name in the header but holds texts such as '{example[:40]}'",
            f"Quote cells that hold the delimiter, or name the text: {copied(f'text={text[0]}')}",
        )
    return ()

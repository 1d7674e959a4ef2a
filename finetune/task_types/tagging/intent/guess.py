"""Finds which columns hold the words, their tags or character spans, and the intent."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from finetune.data.column_types import ColumnFacts
from finetune.data.messages import shown
from finetune.data.values import as_list, as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.column_names import named
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import Evidence
from finetune.task_types.tagging.guess import one_value_each
from finetune.task_types.words.columns import are_tags_of

NAME = "intent-and-slots"
NAME_WORDS = 3  # words of a name
BOTH = "Name both columns: label=INTENT,SLOTS"
TagsIn = Callable[[Evidence], Layout | None]


def intent_layout(evidence: Evidence, tags_in: TagsIn) -> Layout | None:
    """The layout of a file with words, tags or spans, and an intent; None where it is not clearly one.

    `tags_in` finds the columns of words and tags, as for tagging. The label's columns are that of the tags, then that
    of the intent: two that the user named, or one of tags and one that is called intent. Raises Ambiguous where several
    are, and UserError for a user's columns that do not fit.
    """
    label, asked = evidence.chosen.get("label") or [], evidence.shape is not None
    if len(label) == 2:
        return _of_named(evidence, tags_in, label)
    if asked and len(label) == 1:
        raise UserError(f"{evidence.file}: label={label[0]} is one column, and shape={NAME} needs two", BOTH)
    intents = [] if label else _called_intent(evidence)
    if not intents:
        return None
    layout = _tags_beside(evidence, tags_in, intents)
    if layout is None:
        return None
    if len(intents) > 1:
        raise Ambiguous(
            f"{evidence.file}: {len(intents)} columns are called intent",
            [(f"label={name},{layout.label[0]}", "an intent, and slots") for name in intents],
        )
    return _joined(layout, intents[0])


def _of_named(evidence: Evidence, tags_in: TagsIn, label: Sequence[str]) -> Layout | None:
    """The layout of two columns that the user named, one of tags or spans and one of intents, in any order."""
    found = []
    for tags, intent in (label, label[::-1]):
        layout = tags_in(replace(evidence.without([intent]), chosen={**evidence.chosen, "label": [tags]}))
        if layout is not None:
            found.append((layout, intent))
    alike = [(layout, intent) for layout, intent in found if one_value_each(evidence.columns[intent])]
    found = alike if len(alike) == 1 else found  # a value for each word may be a tag, unless a sentence has one alone
    if len(found) == 1:
        ((layout, intent),) = found
        cells, words = evidence.columns[intent], evidence.columns[layout.text[0]]
        if not layout.spans and are_tags_of(words, cells) and not one_value_each(cells):
            raise UserError(
                f"{evidence.file}: the column '{intent}' has a value for each word ({_first_of(cells)}), and a row has "
                "one intent",
                "Name a column with one intent a row, or leave it out of label=",
            )
        if evidence.facts[intent].kind == "list" and not one_value_each(cells):
            raise UserError(
                f"{evidence.file}: the column '{intent}' holds lists, and a row has one intent",
                "Name a column with one intent a row, or leave it out of label=",
            )
        return _joined(layout, intent)
    if evidence.shape is None:
        return None
    which = "both columns hold" if found else "neither column holds"
    raise UserError(
        f"{evidence.file}: {which} tags for each word, or character spans (label={','.join(label)})",
        "Name one of them and one with an intent a row: label=INTENT,SLOTS; the words with text=COLUMN",
    )


def _first_of(cells: Sequence[Any]) -> str:
    """The first cell, as it is shown."""
    cell = next(cell for cell in cells if not is_missing(cell))
    return shown(" ".join(map(as_text, as_list(cell) or [cell])))


def _called_intent(evidence: Evidence) -> list[str]:
    """The columns that are called intent, and hold one of a few a row."""
    columns = [name for name in evidence.columns if name not in evidence.chosen.get("text", [])]
    return [name for name in named(columns, word_list("intent")) if _may_be_intent(evidence.facts[name])]


def _may_be_intent(fact: ColumnFacts) -> bool:
    """Whether cells are one of a few values, or names of a few words."""
    names = fact.kind == "text" and (fact.words < NAME_WORDS or 2 * fact.distinct <= fact.filled)
    return fact.kind == "category" or (fact.kind == "number" and fact.whole) or names


def _tags_beside(evidence: Evidence, tags_in: TagsIn, intents: Sequence[str]) -> Layout | None:
    """The words and tags of a file with these intents. Raises Ambiguous where several columns hold tags."""
    try:
        layout = tags_in(replace(evidence, chosen={**evidence.chosen, "label": []}))
    except Ambiguous as question:
        both = [(setting.replace("label=", f"label={intents[0]},"), what) for setting, what in question.choices]
        raise Ambiguous(question.what, [*both, *question.choices]) from question
    if layout is None or {*layout.label, *layout.text} & {*intents}:
        return None
    return layout


def _joined(layout: Layout, intent: str) -> Layout:
    """The layout with the intent as the second part of the label."""
    (tags,) = layout.label
    what = "character spans" if layout.spans else "tags"
    why = f"{layout.text[0]} has {what} in {tags} and an intent in {intent}; label={tags} reads the {what} alone"
    return replace(layout, shape=NAME, label=(tags, intent), reasons={"shape": why})

"""Columns that look like choices of one question, which must not be read as a text or a pair."""

from collections.abc import Mapping, Sequence

from finetune.data.column_types import ColumnFacts
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.column_names import stem_of


def require_no_choices(facts: Mapping[str, ColumnFacts], label: Sequence[str], text: Sequence[str], file: str) -> None:
    """Raises Ambiguous where columns look like choices, and the guess uses some of them as a text, or none."""
    groups: dict[str, list[str]] = {}
    for name, fact in facts.items():
        if name not in label and fact.kind in ("text", "category", "id") and (stem := stem_of(name)):
            groups.setdefault(stem, []).append(name)
    for group in groups.values():
        others = [n for n in facts if n not in (*group, *label) and facts[n].kind == "text" and facts[n].words >= 3]
        if len(group) > 2 or (len(group) == 2 and set(group) == set(text) and others and _are_places(facts, label)):
            wanted = ",".join([*others[:1], *group])
            choices = [
                (f"shape=choice text={wanted}", "a choice among texts"),
                ("shape=classification", "of one text"),
            ]
            raise Ambiguous(f"{file}: the columns {', '.join(group)} look like choices of one question", choices)
    letters = [fact for name in label if (fact := facts[name]).kind == "category" and 2 < fact.distinct <= 6]
    many = [name for name, fact in facts.items() if name not in label and fact.kind in ("text", "category", "id")]
    if letters and letters[0].letters and len(many) > letters[0].distinct:
        wanted = ",".join(many)
        raise Ambiguous(
            f"{file}: the label is a letter, and {len(many)} columns hold texts, which look like choices",
            [
                (f"shape=choice text={wanted}", "a question and its choices"),
                ("shape=classification", "of one text"),
            ],
        )


def _are_places(facts: Mapping[str, ColumnFacts], label: Sequence[str]) -> bool:
    """Whether a label counts two choices: 0 and 1, or 1 and 2."""
    return len(label) == 1 and facts[label[0]].kind == "number" and facts[label[0]].distinct == 2

"""What is explained of a choice: its log-odds against the others."""

from collections.abc import Sequence
from typing import Any

from finetune.task_types.explained import Asked, ExplainTarget, NamedText, Pick, Target
from finetune.task_types.parts import Answer


def choice_texts(context: str, choices: Sequence[str], names: Sequence[str]) -> list[list[NamedText]]:
    """The context with each choice."""
    first = NamedText(name="context", text=context)
    return [[first, NamedText(name=f"choice {n}", text=text)] for n, text in zip(names, choices, strict=True)]


def choice_targets(choices: Sequence[str], names: Sequence[str], answer: Answer, asked: Asked) -> ExplainTarget:
    """The predicted choice, or the one whose name was asked for."""
    asked.require_no_word()
    given = asked.one_of(names)
    place: Any = answer.value if given is None else names.index(given)
    chances = answer.probabilities or ()
    target = Target(
        label=f"choice {names[place]}",
        picks=[Pick(feature=0, place=(place,), against=0)],
        confidence=chances[place],
    )
    prediction = f"choice {names[answer.value]}: {choices[answer.value]}"
    return ExplainTarget(prediction=prediction, confidence=max(chances), targets=[target])

"""What is explained of predictions on the pooled output: the log-odds of a label, or a score."""

from collections.abc import Sequence
from dataclasses import replace

from finetune.models.feature import Feature
from finetune.task_types.explained import Asked, ExplainTarget, Target, averaged
from finetune.task_types.parts import Answer


def label_target(labels: Sequence[str], answer: Answer, features: Sequence[Feature], asked: Asked) -> ExplainTarget:
    """The predicted label, or the one asked for, against the others."""
    asked.require_no_word()
    label = asked.one_of(labels) or answer.value
    chances = answer.probabilities or ()
    place = labels.index(label)
    target = Target(label=label, confidence=chances[place], picks=averaged(len(features), place, against=0))
    return ExplainTarget(prediction=answer.value, confidence=max(chances), targets=[target])


def score_target(answer: Answer, features: Sequence[Feature], asked: Asked) -> ExplainTarget:
    """The predicted number."""
    asked.require_no_word()
    asked.require_no_label("this model predicts a number, not labels")
    target = Target(label="the score", picks=averaged(len(features), 0, against=None))
    return ExplainTarget(prediction=f"{answer.value:.4g}", confidence=None, targets=[target])


def step_target(labels: Sequence[str], answer: Answer, features: Sequence[Feature], asked: Asked) -> ExplainTarget:
    """The predicted label, or the one asked for: the logit of coming up to it, less that of going beyond it."""
    asked.require_no_word()
    label = asked.one_of(labels) or answer.value
    chances, place = answer.probabilities or (), labels.index(label)
    up = averaged(len(features), place - 1, against=None) if place else []
    beyond = averaged(len(features), place, against=None) if place < len(labels) - 1 else []
    picks = [*up, *(replace(pick, weight=-pick.weight) for pick in beyond)]
    confidence = chances[labels.index(answer.value)]
    return ExplainTarget(prediction=answer.value, confidence=confidence, targets=[Target(label=label, picks=picks)])


def several_labels(labels: Sequence[str], answer: Answer, features: Sequence[Feature], asked: Asked) -> ExplainTarget:
    """Each predicted label, or the one asked for; the likeliest where none is predicted."""
    asked.require_no_word()
    chances = dict(zip(labels, answer.probabilities or (), strict=True))
    given = asked.one_of(labels)
    chosen = [given] if given else answer.value or [max(chances, key=chances.__getitem__)]
    targets = [
        Target(label=label, confidence=chances[label], picks=averaged(len(features), labels.index(label), against=None))
        for label in chosen
    ]
    return ExplainTarget(prediction=", ".join(answer.value) or "no label", confidence=None, targets=targets)

"""Which pairs of a task type and an encoder family are tested: a few, in which each type and each family is seen.

A family differs from another in its row of `FAMILIES`, a type in its head; so a pair tells what neither tells alone
only where a head's layers are in the family's row. Those in which a fault was once are named in `KNOWN`.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import pytest
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from finetune.models.families import FAMILIES
from finetune.task_types.task import Task
from support.encoders import DIFFERENT, NAMES

ALL_PAIRS = "FINETUNE_ALL_PAIRS" in os.environ
"""Whether the other pairs are tested too, as `make nightly` does."""

UNABLE = {
    "toy-text-mlm-nsp": [name for name, family in FAMILIES.items() if family.next_sentence is None],
    "toy-text-mlm-sop": [name for name, family in FAMILIES.items() if family.next_sentence is None],
    "toy-text-rtd": [name for name in FAMILIES if name not in ("bert", "electra")],
    "toy-text-ltr": [name for name, family in FAMILIES.items() if not family.left_to_right],
    "toy-written": ["big_bird", *(name for name in FAMILIES if name not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)],
}
"""Tasks, and the families that refuse their objective or cannot be a decoder."""

WITHOUT_CLASS = {
    ("big_bird", "QuestionAnswering"),
    ("deberta", "MultipleChoice"),
    ("roformer", "MultipleChoice"),
    *((name, head) for name in ("eurobert", "nomic_bert", "gte") for head in ("QuestionAnswering", "MultipleChoice")),
}
"""Families and heads that transformers has no class for, or none that computes the same."""

CLASSES = {
    "toy-spans-1": "QuestionAnswering",
    "toy-spans-2": "QuestionAnswering",
    "toy-choices": "MultipleChoice",
}

KNOWN = {
    **dict.fromkeys([("toy-tags-sentence", "albert"), ("toy-spans-1", "albert")], "the blank before a word is a token"),
    ("toy-spans-1", "xlm_roberta"): "the blank before a word is a token",
    ("toy-reds", "xlm_roberta"): "segments of the tokenizer that the encoder does not know",
    ("toy-spans-1", "distilbert"): "a dropout that the other families do not have",
    **dict.fromkeys([("toy-choices", "roberta"), ("toy-choices", "electra")], "another dropout than for texts"),
    ("toy-cats", "roberta_prelayernorm"): "the last LayerNorm where one token is read",
    **dict.fromkeys([("toy-cats", "big_bird"), ("toy-cats", "roformer")], "a pooler that is not read"),
    ("toy-cats", "longformer"): "tokens that attend to all: the first",
    ("toy-spans-1", "longformer"): "tokens that attend to all: the question",
    ("toy-choices", "longformer"): "tokens that attend to all: the choice",
    ("toy-cats", "eurobert"): "a mean of logits that becomes one of vectors",
    ("toy-overlaps", "modernbert"): "layers before the output that this head does not have",
    ("toy-text-mlm", "rembert"): "a matrix of its own",
    ("toy-text-mlm", "eurobert"): "no layer but the output",
    ("toy-spans-1", "big_bird"): "a class that computes something else",
    ("toy-choices", "roformer"): "a class that reads the last token, which may be padding",
    ("toy-choices", "deberta"): "no class",
    ("toy-spans-1", "nomic_bert"): "no class",
    ("toy-text-rtd", "electra"): "an objective that few families have",
    ("toy-text-mlm-sop", "albert"): "an objective that few families have",
    ("toy-text-ltr", "roberta"): "an objective that few families have",
    ("toy-written", "roberta"): "a decoder, which few families have",
    ("toy-choices", "gte"): "no class",
}
"""Pairs of a toy and a family in which alone a fault was, or could have been, and what it was about."""


def each_task_and_family(
    tasks: Sequence[Task],
    *,
    families: Sequence[str] = DIFFERENT,
    all_with: Sequence[str] = ("bert",),
    in_turn: Sequence[str] = NAMES,
    known: Collection[tuple[str, str]] = KNOWN,
) -> pytest.MarkDecorator:
    """`task` and `tiny_encoder`, see `each_with_families`."""
    cases = {task.name: (task,) for task in tasks}
    return each_with_families(["task"], cases, families=families, all_with=all_with, in_turn=in_turn, known=known)


def each_with_families(
    names: Sequence[str],
    cases: Mapping[str, Sequence[Any]],
    *,
    families: Sequence[str] = DIFFERENT,
    all_with: Sequence[str] = ("bert",),
    in_turn: Sequence[str] = NAMES,
    known: Collection[tuple[str, str]] = KNOWN,
) -> pytest.MarkDecorator:
    """These arguments and `tiny_encoder`: each case `all_with` these families, the first case with `families`. Slow are
    each family `in_turn` with a case, and the pairs that are `known`; the others are left out but for `ALL_PAIRS`.
    """
    first, held = next(iter(cases)), {*turns(list(cases), in_turn), *known}
    pairs = []
    for case, name in product(cases, NAMES):
        fast = name in all_with or (case == first and name in families)
        if name not in refusing(case) and (fast or ALL_PAIRS or (case, name) in held):
            marks = [] if fast else [pytest.mark.slow]
            pairs.append(pytest.param(*cases[case], name, id=f"{case}-{name}", marks=marks))
    return pytest.mark.parametrize([*names, "tiny_encoder"], pairs, indirect=["tiny_encoder"])


def turns(cases: Sequence[str], families: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A pair a family: the first family has the first case, the second the second, and so on, over and over. Where
    a family has no head for a case, or transformers no class, it has the next.
    """
    for number, name in enumerate(families):
        after = [cases[(number + more) % len(cases)] for more in range(len(cases))]
        yield next((case, name) for case in after if not is_without_head(case, name))


def is_without_head(case: str, name: str) -> bool:
    """Whether a family refuses a toy, or transformers has no class of it there."""
    return name in refusing(case) or (name, CLASSES.get(case)) in WITHOUT_CLASS


def refusing(case: str) -> Sequence[str]:
    """The families that refuse a toy."""
    return [kind.replace("-", "_") for kind in UNABLE.get(case, ())]

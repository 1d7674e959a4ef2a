"""Baselines where a scored token follows one that is not in the training text."""

from typing import Any

import numpy as np

from finetune.models.feature import Feature
from finetune.task_types.pretraining.baselines import reduced
from finetune.task_types.pretraining.dev import DevPiece
from finetune.task_types.pretraining.tokens import TokenFile


def test_a_token_after_an_unseen_one_has_a_probability() -> None:
    ids = np.array([1, 2, 1, 2], np.uint16)
    text = TokenFile(ids=ids, starts=np.zeros(1, np.uint8), lines=np.array([0, 4]), documents=np.array([0, 1]))
    facts: dict[str, Any] = {"words": np.array([0]), "shared": np.array([1]), "before": np.array([9])}
    found = reduced(text, [Feature(row=0, note=DevPiece(**facts, vocabulary=None))], labels=[np.array([1])])
    assert all(np.isfinite(each[0]).all() for each in found.values())

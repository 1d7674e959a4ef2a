"""Heads for pre-training learn a toy language in which every word, and every second text, is known; as the runs of
`test_pretraining_runs` do with them.
"""

from pathlib import Path

import numpy as np
import pytest
from support.pretraining import language, train

from finetune.models.feature import labels_by_name
from finetune.models.head import Head
from finetune.runs.recipe import Train
from finetune.task_types.pretraining.head import NextSentenceHead, NextWordHead, WordHead
from finetune.task_types.pretraining.pieces import NEXT, WORDS


@pytest.mark.nightly
@pytest.mark.parametrize("head", [WordHead, NextWordHead, NextSentenceHead])
def test_a_language_whose_words_are_known_is_learned(head: type[Head], tiny_bert: Path) -> None:
    features = language(head, tiny_bert, rows=400)
    engine = train(head, tiny_bert, features, Train(epochs=8, batch_size=16, learning_rate=3e-3, dropout=0.0))
    scored = engine.logits(features)
    labels = labels_by_name(features)
    words = np.array([each[:, 1] for each in scored])
    assert np.mean(words == np.array(labels.pop(WORDS))) > 0.95
    for name, nexts in labels.items():
        assert name == NEXT
        assert np.mean(np.array([each[0, 2:].argmax() for each in scored]) == nexts) > 0.95

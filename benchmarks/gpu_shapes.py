"""Made-up batches in the shapes of real tasks, and encoders with random weights: for measuring speed on a GPU."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from transformers import BertConfig

from finetune.models.feature import Feature

SIZES = {
    "base": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072},
    "large": {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
}
VOCABULARY, CLS, SEP, FIRST = 30_522, 101, 102, 1_000
TRAINED = 3  # passes: a backward pass takes as many operations as two forward passes


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A task's batches: lengths drawn from a normal distribution, within bounds, in tokens."""

    size: Literal["base", "large"]
    head: Literal["sentence", "tagging", "span"]
    batch: int
    mean: float
    deviation: float
    least: int
    most: int

    @property
    def config(self) -> BertConfig:
        """BERT of this size."""
        return BertConfig(vocab_size=VOCABULARY, **SIZES[self.size])

    def features(self, updates: int, seed: int = 0) -> list[Feature]:
        """As many as these updates need."""
        generator = np.random.default_rng(seed)
        count = updates * self.batch
        lengths = generator.normal(self.mean, self.deviation, count).round().clip(self.least, self.most).astype(int)
        return [self._feature(row, int(length), generator) for row, length in enumerate(lengths)]

    def _feature(self, row: int, length: int, generator: np.random.Generator) -> Feature:
        ids = [CLS, *generator.integers(FIRST, VOCABULARY, length - 2).tolist(), SEP]
        given: dict[str, Any] = {"row": row, "input_ids": ids, "token_type_ids": [0] * length}
        if self.head == "sentence":
            return Feature(**given, label=int(generator.integers(2)))
        if self.head == "span":
            return Feature(**given, label=sorted(generator.integers(1, length - 1, 2).tolist()))
        words = sorted(generator.choice(np.arange(1, length - 1), max(1, round(0.7 * (length - 2))), replace=False))
        return Feature(**given, reads=words, label=generator.integers(9, size=len(words)).tolist())

    def operations(self, lengths: Sequence[int]) -> float:
        """The floating-point operations of training on texts of these lengths, matrix products alone."""
        width, layers = self.config.hidden_size, self.config.num_hidden_layers
        a_token = 24 * width**2 * layers  # 12 width^2 weights a layer, a product and a sum each
        return TRAINED * float(sum(length * a_token + 4 * length**2 * width * layers for length in lengths))


SHAPES = {
    "MRPC, base, 32": Shape(size="base", head="sentence", batch=32, mean=53, deviation=14, least=20, most=105),
    "MRPC, base, 16": Shape(size="base", head="sentence", batch=16, mean=53, deviation=14, least=20, most=105),
    "CoLA, base, 32": Shape(size="base", head="sentence", batch=32, mean=11, deviation=4, least=5, most=40),
    "CoNLL-2003, base, 32": Shape(size="base", head="tagging", batch=32, mean=100, deviation=25, least=20, most=128),
    "SQuAD, base, 32": Shape(size="base", head="span", batch=32, mean=300, deviation=120, least=100, most=384),
    "MRPC, large, 32": Shape(size="large", head="sentence", batch=32, mean=53, deviation=14, least=20, most=105),
    "SQuAD, large, 16": Shape(size="large", head="span", batch=16, mean=300, deviation=120, least=100, most=384),
}

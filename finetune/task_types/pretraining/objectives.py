"""The objectives of pre-training: what an encoder learns to predict. A new one is a class in a file of its own.

`OBJECTIVES` has all by name: those of this file, a file each in `task_types/plugins/objectives`, and those of other
packages (entry points of the group `finetune.objectives`). A plug-in's module names its class in `OBJECTIVE`; the name
of its file, or of its entry point, is the objective's.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from finetune.data.documents import Document
from finetune.errors import UserError, first_line
from finetune.metrics.metric import Metric
from finetune.metrics.words import masked_accuracy, next_accuracy, perplexity, probability
from finetune.models.feature import IGNORED, Feature
from finetune.task_types.pretraining.dev import (
    dev_tokens,
    pair_answers,
    pair_features,
    pairs_of,
    word_answers,
    word_features,
    word_labels,
)
from finetune.task_types.pretraining.draw import MaskUnit, next_words, with_masks, with_next_sentence
from finetune.task_types.pretraining.pieces import NEXT, PieceVocabulary

if TYPE_CHECKING:
    from finetune.models.backbone import Backbone
    from finetune.models.head import Head


class Objective:
    """Masked words, and what every objective has: the draw for an update, the head, and the scoring of dev.

    `version` is raised when its features change. `masks` says what is masked where the setting `mask` cannot. With
    `reads_before` nothing is, and each word is predicted from the token before it. A `paired` one reads two texts at
    once, in training from a batch of `least_batch` pieces or more, in dev of `least_documents` of two lines or more.
    """

    what: ClassVar[str] = "masked words"
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = (perplexity, probability, masked_accuracy)
    masks: ClassVar[str] = ""
    reads_before: ClassVar[bool] = False
    paired: ClassVar[bool] = False
    least_batch: ClassVar[int] = 1
    least_documents: ClassVar[int] = 0

    def head(self, backbone: "Backbone") -> "Head":
        """A new head, whose losses are by the names of the labels that `draw` gives."""
        from finetune.task_types.pretraining.head import WordHead

        return WordHead(backbone)

    def draw(
        self, features: Sequence[Feature], generator: np.random.Generator, *, share: float, unit: MaskUnit
    ) -> Sequence[Feature]:
        """The features of an update, from pieces whose notes are `Piece`; all that is random is of the generator."""
        return next_words(features) if self.reads_before else with_masks(features, generator, share=share, unit=unit)

    def encode(self, rows: Sequence[Document], vocabulary: PieceVocabulary, *, size: int) -> list[Feature]:
        """The features of dev, of at most `size` tokens without special ones."""
        return word_features(rows, dev_tokens(rows, vocabulary), vocabulary, size=size, before=self.reads_before)

    def labels(self, row: Document) -> dict[str, Any]:
        """The label of a document, a list for each name."""
        return word_labels(row)

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Document]
    ) -> list[dict[str, Any]]:
        """A prediction for each document, with the names and lengths of its label, from what the head gives."""
        return word_answers(logits, features, rows)


class NextSentence(Objective):
    """Also whether the second of two texts follows the first."""

    what = "also the next sentence"
    version = 2
    metrics = (*Objective.metrics, next_accuracy)
    paired = True
    least_batch = least_documents = 2
    with_pairs: ClassVar[Callable[..., Sequence[Feature]]] = staticmethod(with_next_sentence)
    pair_features: ClassVar[Callable[..., Any]] = staticmethod(pair_features)

    def head(self, backbone: "Backbone") -> "Head":
        from finetune.task_types.pretraining.head import NextSentenceHead

        return NextSentenceHead(backbone)

    def draw(
        self, features: Sequence[Feature], generator: np.random.Generator, *, share: float, unit: MaskUnit
    ) -> Sequence[Feature]:
        size = max(map(len, features)) - features[0].note.vocabulary.single.special_tokens
        return super().draw(self.with_pairs(features, generator, size=size), generator, share=share, unit=unit)

    def encode(self, rows: Sequence[Document], vocabulary: PieceVocabulary, *, size: int) -> list[Feature]:
        tokens = dev_tokens(rows, vocabulary)
        words = word_features(rows, tokens, vocabulary, size=size)
        unpaired = [replace(feature, label=feature.label | {NEXT: IGNORED}) for feature in words]
        return unpaired + list(self.pair_features(rows, tokens, vocabulary, size=size))

    def labels(self, row: Document) -> dict[str, Any]:
        return super().labels(row) | {"next": [is_next for _, is_next in pairs_of(row)]}

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Document]
    ) -> list[dict[str, Any]]:
        words, pairs = super().decode(logits, features, rows), pair_answers(logits, features, rows)
        return [word | pair for word, pair in zip(words, pairs, strict=True)]


class NextWord(Objective):
    """Each word from those before it."""

    what = "the next word"
    masks = "nothing"
    reads_before = True

    def head(self, backbone: "Backbone") -> "Head":
        from finetune.task_types.pretraining.head import NextWordHead

        return NextWordHead(backbone)


def _plugin(name: str, module: str) -> Objective:
    """The objective of a module. Raises UserError for one that cannot be used."""
    try:
        kind = import_module(module).OBJECTIVE
    except Exception as error:  # a plug-in author's code may raise anything
        raise UserError(f"objective={name}: {module} cannot be used ({first_line(error)})", "Fix that file") from error
    return kind()  # type: ignore[no-any-return]


OWN: dict[str, type[Objective]] = {"mlm": Objective, "mlm-nsp": NextSentence, "ltr": NextWord}
FOLDER = "finetune.task_types.plugins.objectives"
FILES = [file.name for file in iter_modules([str(Path(__file__).parents[1] / "plugins" / "objectives")])]
MODULES = {name.replace("_", "-"): f"{FOLDER}.{name}" for name in FILES}
MODULES |= {entry.name: entry.value for entry in entry_points(group="finetune.objectives")}
OBJECTIVES: dict[str, Callable[[], Objective]] = {
    **{name: partial(_plugin, name, module) for name, module in MODULES.items()},
    **OWN,
}
LISTED = "; ".join([*(f"{name}: {kind.what}" for name, kind in OWN.items()), f"plug-ins: {', '.join(MODULES)}"])

if TYPE_CHECKING:
    ObjectiveName = str
else:
    ObjectiveName = Literal[tuple(OBJECTIVES)]

"""Unlabelled text: an encoder is trained to predict words, and which text follows another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from finetune.data.documents import Document, Documents
from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.words import (
    masked_accuracy,
    next_accuracy,
    perplexity,
    perplexity_of,
    probability,
)
from finetune.models.feature import Feature
from finetune.models.tokenizers.train import own_vocabulary
from finetune.runs.events import Watcher
from finetune.task_types.declared_options import option
from finetune.task_types.explained import NamedText
from finetune.task_types.parts import Answer
from finetune.task_types.pretraining.chosen_words import WORD_CHARS, chosen_words
from finetune.task_types.pretraining.dev import dev_features, labels_of_document, predictions_of
from finetune.task_types.pretraining.masks import MaskUnit, next_words, with_masks
from finetune.task_types.pretraining.objectives import LISTED, OBJECTIVES, Objective, ObjectiveName
from finetune.task_types.pretraining.pairs import with_next_sentence
from finetune.task_types.pretraining.pieces import PieceFeatures, tokens_of
from finetune.task_types.pretraining.vocabulary import piece_size, vocabulary_for
from finetune.task_types.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.models.head import Head

METRICS = (perplexity, probability, masked_accuracy)


@dataclass(frozen=True, kw_only=True)
class TextTask(Task):
    """Pre-training on a text (Devlin et al. 2019, section 3.1; Table 5 for `ltr`).

    A row is a document. It is scored on words of dev that its text alone chose: the perplexity of a word, its inverse
    `probability`, and the share of words that was predicted; with pairs also whether they follow each other.
    """

    metrics: tuple[Metric, ...] = METRICS
    read: Callable[[Source, str], Rows]
    objective: ObjectiveName = option("mlm", LISTED)
    mask: MaskUnit = option("tokens", "what is masked: tokens or whole words")
    mask_share: Annotated[float, Field(gt=0, le=0.9)] = option(0.15, "share of the tokens that is predicted")
    row_type = Document

    def __post_init__(self) -> None:
        """Raises UserError for masks where nothing is masked."""
        object.__setattr__(self, "metrics", (*METRICS, next_accuracy) if self.paired else METRICS)
        object.__setattr__(self, "version", self.objective_type.version)
        super().__post_init__()
        if not self.objective_type.masked and self.mask != "tokens":
            raise UserError(f"objective={self.objective} masks nothing, and mask is set", "Leave mask out")

    @property
    def paired(self) -> bool:
        """Whether the encoder also learns which text follows another."""
        return self.objective_type.paired

    @property
    def objective_type(self) -> Objective:
        """What is predicted, and by which head."""
        return OBJECTIVES[self.objective]

    def load(self, source: Source, split: str) -> Rows:
        """The documents of a split. Raises UserError for a dev that cannot be scored: without words, or with too few
        lines for pairs.
        """
        loaded = self.read(source, split)
        if split == "dev" and not any(map(chosen_words, loaded.rows)):
            raise UserError(
                f"{loaded.origin}: has no word of {WORD_CHARS} letters or digits or fewer, and an encoder is scored on "
                "words",
                "Give a text with words; in training dev=FILE names it",
            )
        if split == "dev" and self.paired and sum(len(document.lines) > 1 for document in loaded.rows) < 2:
            raise UserError(
                f"{loaded.origin}: objective={self.objective} needs documents of two lines or more, and dev has fewer "
                "than 2",
                "Put each sentence on a line and a blank line between documents, or choose objective=mlm",
            )
        return loaded

    def head(self, backbone: "Backbone") -> "Head":
        """The head of the objective, which shares the word embeddings."""
        from finetune.task_types.pretraining.head import HEADS

        return HEADS[self.objective](backbone)

    def fits(self, value: Any, row: Document) -> bool:
        """Whether a prediction has as many words and pairs as the row."""
        label = labels_of_document(row, paired=self.paired)
        return value.keys() == label.keys() and all(len(value[name]) == len(label[name]) for name in label)

    def row(self, text: str) -> Document:
        """A document."""
        return Document.of("", text)

    def encode_together(self, before: Document, row: Document) -> bool:
        """Always: pairs take texts of other documents."""
        return True

    def encode(self, rows: Sequence[Document], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> list[Feature]:
        """The chosen words of each document, masked, and its pairs of texts."""
        vocabulary = vocabulary_for(self.objective, tokenizer)
        size = piece_size(self.objective, vocabulary, max_length)
        return dev_features(rows, vocabulary, objective=self.objective, size=size)

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Document]
    ) -> list[Answer]:
        return [Answer(value=found) for found in predictions_of(logits, features, rows, paired=self.paired)]

    def cells(self, answer: Answer, row: Document) -> dict[str, Any]:
        """The predicted words, and the perplexity of a word."""
        return {"prediction": " ".join(answer.value["words"]), "perplexity": perplexity_of([answer.value])}

    def shown_label(self, feature: Feature, tokens: Sequence[str]) -> str:
        """The number of tokens that are predicted."""
        return "drawn for each update" if feature.reads is None else f"{len(feature.reads)} tokens"

    def all_labelled(self, rows: Sequence[Document]) -> bool:
        """Any text is its own label."""
        return True

    def labels_of(self, rows: Sequence[Document]) -> list[Answer]:
        return [Answer(value=labels_of_document(document, paired=self.paired)) for document in rows]

    def explain_texts(self, row: Document) -> list[list[NamedText]]:
        """Raises UserError: there is no one prediction to explain."""
        raise UserError(
            "an encoder that was pre-trained on text predicts masked words, which are not explained",
            "Fine-tune it on a task, model=RUN, and explain that run",
        )

    def require_batch(self, size: int) -> None:
        """Raises UserError for pairs of texts in a batch of one."""
        if self.paired and size == 1:
            raise UserError(
                f"train.batch_size is {size}: objective={self.objective} takes texts that do not follow from the "
                "other documents of a batch",
                "Set a greater train.batch_size",
            )

    def train_features(
        self, rows: Sequence[Document], tokenizer: "PreTrainedTokenizerBase", max_length: int, watch: Watcher
    ) -> Sequence[Feature]:
        """Pieces of the documents. Raises UserError for text without tokens."""
        vocabulary = vocabulary_for(self.objective, tokenizer)
        size, tokens = piece_size(self.objective, vocabulary, max_length), tokens_of(rows, tokenizer, watch)
        if not len(tokens.ids):
            raise UserError("the tokenizer finds no token in the text to train on", "Is it the right file?")
        return PieceFeatures(tokens, vocabulary, size=size)

    def own_vocabulary(self, rows: Sequence[Document], watch: Watcher, *, size: int) -> Path | None:
        """A vocabulary trained on the documents; once, whatever number of runs uses it."""
        if not isinstance(rows, Documents):
            return None
        lines = [line for document in rows for line in document.lines]
        return own_vocabulary(lines, content=rows.fingerprint, size=size, watch=watch)

    def draw(self, features: Sequence[Feature], generator: np.random.Generator) -> Sequence[Feature]:
        """The features with masks, or with the next word of each position; with pairs also their labels."""
        if self.paired:
            size = max(len(feature) for feature in features) - features[0].note.vocabulary.single.special_tokens
            features = with_next_sentence(features, generator, size=size)
        if not self.objective_type.masked:
            return next_words(features)
        return with_masks(features, generator, share=self.mask_share, unit=self.mask)

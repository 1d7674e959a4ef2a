"""Unlabelled text: an encoder is trained to predict words, and which text follows another."""

from collections.abc import Sequence
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
from finetune.metrics.words import perplexity_of
from finetune.models.feature import Feature
from finetune.models.tokenizers.train import own_vocabulary
from finetune.runs.events import Watcher
from finetune.task_types.declared import option
from finetune.task_types.parts import Answer, BatchMaker
from finetune.task_types.pretraining.dev import WORD_CHARS, chosen_words
from finetune.task_types.pretraining.draw import MaskUnit
from finetune.task_types.pretraining.objectives import LISTED, OBJECTIVES, Objective, ObjectiveName
from finetune.task_types.pretraining.pieces import PieceFeatures, PieceVocabulary, tokens_of, vocabulary_of
from finetune.task_types.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.models.head import Head


@dataclass(frozen=True, kw_only=True)
class TextTask(Task, BatchMaker):
    """Pre-training on a text (Devlin et al. 2019, section 3.1; Table 5 for `ltr`).

    A row is a document. It is scored as its objective says: on words of dev that its text alone chose, the perplexity
    of a word, its inverse `probability`, and the share of words that was predicted; with pairs also whether they follow
    each other.
    """

    metrics: tuple[Metric, ...] = Objective.metrics
    objective: ObjectiveName = option("mlm", LISTED)
    mask: MaskUnit = option("tokens", "what is masked: tokens or whole words")
    mask_share: Annotated[float, Field(gt=0, le=0.9)] = option(0.15, "share of the tokens that is predicted")
    row_type = Document

    def __post_init__(self) -> None:
        """Raises UserError for masks where nothing is masked."""
        kind = self.objective_type
        object.__setattr__(self, "metrics", kind.metrics)
        object.__setattr__(self, "version", kind.version)
        super().__post_init__()
        if kind.masks and self.mask != "tokens":
            raise UserError(f"objective={self.objective} masks {kind.masks}, and mask is set", "Leave mask out")

    @property
    def objective_type(self) -> Objective:
        """What is predicted, by which head, and how it is scored."""
        return OBJECTIVES[self.objective]()

    def load(self, source: Source, split: str) -> Rows:
        """The documents of a split. Raises UserError for a dev that cannot be scored: without words, or with too few
        lines for pairs.
        """
        assert self.read is not None
        loaded, least = self.read(source, split), self.objective_type.least_documents
        if split == "dev" and not any(map(chosen_words, loaded.rows)):
            raise UserError(
                f"{loaded.origin}: has no word of {WORD_CHARS} letters or digits or fewer, and an encoder is scored on "
                "words",
                "Give a text with words; in training dev=FILE names it",
            )
        if split == "dev" and sum(len(document.lines) > 1 for document in loaded.rows) < least:
            raise UserError(
                f"{loaded.origin}: objective={self.objective} needs documents of two lines or more, and dev has fewer "
                f"than {least}",
                "Put each sentence on a line and a blank line between documents, or choose objective=mlm",
            )
        return loaded

    def head(self, backbone: "Backbone") -> "Head":
        """The head of the objective, which shares the word embeddings."""
        return self.objective_type.head(backbone)

    def fits(self, value: Any, row: Document) -> bool:
        """Whether a prediction has as many words and pairs as the row."""
        label = self.objective_type.labels(row)
        return value.keys() == label.keys() and all(len(value[name]) == len(label[name]) for name in label)

    def row(self, text: str) -> Document:
        """A document."""
        return Document.of("", text)

    def encode_together(self, before: Document, row: Document) -> bool:
        """Always: pairs take texts of other documents."""
        return True

    def encode(self, rows: Sequence[Document], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> list[Feature]:
        """What the objective reads of each document."""
        vocabulary, size = self._room(tokenizer, max_length)
        return self.objective_type.encode(rows, vocabulary, size=size)

    def _room(self, tokenizer: "PreTrainedTokenizerBase", max_length: int) -> tuple[PieceVocabulary, int]:
        """The vocabulary, and the tokens of a piece without special ones. Raises UserError where none fit, or for pairs
        only one, and where a text begins with no special token and the objective predicts its first word from one.
        """
        kind, vocabulary = self.objective_type, vocabulary_of(tokenizer)
        if kind.reads_before and not vocabulary.single.before:
            raise UserError(
                f"objective={self.objective} predicts the first word of a text from a special token before it, which"
                " the tokenizer of this model does not add",
                "Choose objective=mlm, or train a vocabulary with `finetune tokenizer`",
            )
        special = (vocabulary.pair if kind.paired else vocabulary.single).special_tokens
        if max_length <= special + kind.paired:
            raise UserError(
                f"max_length is {max_length}, and {special} special tokens leave no room for text",
                f"Set max_length={special + kind.paired + 1} or more",
            )
        return vocabulary, max_length - special

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Document]
    ) -> list[Answer]:
        return [Answer(value=value) for value in self.objective_type.decode(logits, features, rows)]

    def cells(self, answer: Answer, row: Document) -> dict[str, Any]:
        """The predicted words, and the perplexity of a word."""
        return {"prediction": " ".join(answer.value["words"]), "perplexity": perplexity_of([answer.value])}

    def labels_of(self, rows: Sequence[Document]) -> list[Answer]:
        return [Answer(value=self.objective_type.labels(document)) for document in rows]

    def require_batch(self, size: int) -> None:
        """Raises UserError for too few pieces, where pairs have texts of different ones."""
        if size < self.objective_type.least_batch:
            raise UserError(
                f"train.batch_size is {size}: objective={self.objective} takes texts that do not follow from the "
                "other documents of a batch",
                "Set a greater train.batch_size",
            )

    def train_features(
        self, rows: Sequence[Document], tokenizer: "PreTrainedTokenizerBase", max_length: int, watch: Watcher
    ) -> Sequence[Feature]:
        """Pieces of the documents. Raises UserError for text without tokens."""
        (vocabulary, size), tokens = self._room(tokenizer, max_length), tokens_of(rows, tokenizer, watch)
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
        """The features of an update, as the objective draws them."""
        return self.objective_type.draw(features, generator, share=self.mask_share, unit=self.mask)

"""A text is written from another one by an encoder and a decoder (Rothe, Narayan and Severyn 2020)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.texts import BleuWords, TextScore, require_text_scores, text_metrics
from finetune.models.feature import Feature
from finetune.task_types.baselines import read_rows
from finetune.task_types.declared_options import option
from finetune.task_types.explained import NamedText
from finetune.task_types.parts import Answer, Baselines, Codec, Explainer, Scoring
from finetune.task_types.sequence.encoding import encode_sources
from finetune.task_types.sequence.row import SequenceRow
from finetune.task_types.task import Task
from finetune.task_types.tfidf import vectors

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.models.head import Head

ROWS_AT_ONCE = 500  # texts whose likeness to all others is in memory
Tokens = Annotated[int, Field(ge=2, le=131_072)]
Beams = Annotated[int, Field(ge=1, le=64)]
Share = Annotated[float, Field(ge=0, lt=1)]
Penalty = Annotated[float, Field(ge=-10, le=10)]


class SequenceCodec(Codec["SequenceTask"]):
    """Sources, and targets to learn, to features; ids that were written to texts."""

    leading = 0

    def encode_together(self, before: Any, row: Any) -> bool:
        return False

    def encode(
        self, rows: Sequence[SequenceRow], tokenizer: "PreTrainedTokenizerBase", max_length: int
    ) -> list[Feature]:
        """`[CLS] source [SEP]`, with the label `target [SEP]`; both truncated."""
        return encode_sources(rows, tokenizer, max_length, most_written=self.task.max_target_tokens)

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[SequenceRow]
    ) -> list[Answer]:
        """The text of each row's ids."""
        texts = [feature.note.text_of(ids) for ids, feature in zip(logits, features, strict=True)]
        return [Answer(value=text) for text in texts]

    def truncation_note(self, max_length: int) -> str:
        return (
            f"have a source longer than max_length {max_length}, or a target longer than max_target_tokens "
            f"{self.task.max_target_tokens}: it is truncated, and the target as it is learned; scores compare with "
            "all of it"
        )

    def shown_label(self, feature: Feature, tokens: Sequence[str]) -> str:
        return "none" if feature.label is None else feature.note.text_of(np.asarray(feature.label))


class SequenceScoring(Scoring["SequenceTask"]):
    """chrF, BLEU, ROUGE and exact match with the one target."""

    def labels(self, rows: Sequence[SequenceRow]) -> list[Answer]:
        return [Answer(value=row.target) for row in rows]

    def notes(self, answers: Sequence[Answer], rows: Sequence[SequenceRow]) -> list[str]:
        """Notes on texts that the predictions cannot be: with capital letters, where none has any."""
        capitals = sum(row.target != row.target.lower() for row in rows if row.target is not None)
        if self.task.lower or not capitals or any(answer.value != answer.value.lower() for answer in answers):
            return []
        return [
            f"no prediction has a capital letter, and {capitals:,} of {len(rows):,} targets have: the encoder's "
            "tokenizer may write lower case alone; lower=true scores without case"
        ]


class SequenceBaselines(Baselines["SequenceTask"]):
    """The source itself, and the target of the training row whose source is nearest."""

    def predictions(self, train: Sequence[SequenceRow], rows: Sequence[SequenceRow]) -> dict[str, list[Answer]]:
        nearest = nearest_rows([row.source for row in train], [row.source for row in rows])
        return {
            "copy": [Answer(value=row.source) for row in rows],
            "nearest": [Answer(value=train[index].target) for index in nearest],
        }


class SequenceExplainer(Explainer["SequenceTask"]):
    """Nothing: a text is many choices."""

    def texts(self, row: SequenceRow) -> list[list[NamedText]]:
        """Raises UserError: there is no one logit to explain."""
        raise UserError(
            "a written text is a choice for each of its words, which is not explained by one logit",
            "Read its predictions: finetune show RUN --predictions 10",
        )


@dataclass(frozen=True, kw_only=True)
class SequenceTask(Task):
    """A text is written from a source: a translation, a headline, a question, an inflected word.

    An encoder reads the source, a decoder that begins with the encoder's weights writes the target from left to right.
    It learns each token from those before it (teacher forcing), and is scored on what it writes by itself.
    """

    read: Callable[[Source, str], Rows]
    metrics: tuple[Metric, ...] = ()
    max_target_tokens: Tokens = option(64, "most tokens of a text that is written, with the one that ends it")
    beams: Beams = option(1, "texts that the search keeps at each token: 1 is greedy")
    length_penalty: Penalty = option(1.0, "power of the length that divides a beam's log-probability; more: longer")
    label_smoothing: Share = option(0.0, "share of a label's probability that all tokens of the vocabulary share")
    headline: TextScore = option("chrf", "the score that chooses: chrf, bleu, rouge-1, rouge-2, rouge-l or em")
    bleu_words: BleuWords = option(
        "13a", "sacrebleu's words of BLEU: 13a, intl; zh and char for texts without spaces, such as Chinese"
    )
    lower: bool = option(False, "compare texts in lower case, as an encoder without case writes them")
    row_type = SequenceRow
    codec_class = SequenceCodec
    scoring_class = SequenceScoring
    baselines_class = SequenceBaselines
    explainer_class = SequenceExplainer

    def __post_init__(self) -> None:
        """Names the metrics, the headline first."""
        super().__post_init__()
        metrics = text_metrics(first=self.headline, words=self.bleu_words, lower=self.lower)
        object.__setattr__(self, "metrics", metrics)

    @property
    def pooled(self) -> bool:
        """Never: the decoder reads each token."""
        return False

    def load(self, source: Source, split: str) -> Rows:
        """The rows of a split. Raises UserError for an empty text, and without the packages that score."""
        require_text_scores()
        return self.checked(self.read(source, split))

    def fault(self, row: SequenceRow) -> str:
        if not row.source.strip():
            return "has an empty source"
        return "has an empty target" if row.target is not None and not row.target.strip() else ""

    def fits(self, value: Any, row: SequenceRow) -> bool:
        return isinstance(value, str)

    def require_encoder(self, config: "PretrainedConfig") -> None:
        from finetune.models.encoder_decoder import require_decoder

        require_decoder(config)

    def head(self, backbone: "Backbone") -> "Head":
        from finetune.models.decoding_head import DecodingHead
        from finetune.models.encoder_decoder import Generation

        how = Generation(beams=self.beams, most_tokens=self.max_target_tokens, length_penalty=self.length_penalty)
        return DecodingHead(backbone, smoothing=self.label_smoothing, generation=how)

    def row(self, source: str) -> SequenceRow:
        """A source."""
        return SequenceRow(id="", source=source)


def nearest_rows(texts: Sequence[str], unseen: Sequence[str]) -> list[int]:
    """The index of the nearest text to each unseen one, the first of several; 0 for one that shares nothing.

    Of many texts a random sample is read.
    """
    chosen = read_rows([(text,) for text in texts])
    try:
        seen, new = vectors([(texts[index],) for index in chosen], [(text,) for text in unseen])
    except ValueError:  # scikit-learn's, where no text has a word
        return [0] * len(unseen)
    found: list[int] = []
    for begin in range(0, len(unseen), ROWS_AT_ONCE):
        likeness = new[begin : begin + ROWS_AT_ONCE] @ seen.T
        found += chosen[np.asarray(likeness.toarray().argmax(1)).ravel()].tolist()
    return found

"""Texts and pairs: their rows, their tokens, windows of long texts, and the base of tasks on the pooled output."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.feature import Feature
from finetune.models.tokenizers.encoding import window_starts
from finetune.task_types.explained import Asked, ExplainTarget, NamedText, Pick, Target
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

LabelKind = Literal["class", "number", "flags"]
ROWS_AT_ONCE = 2_000  # tokenized at once, to bound memory
WINDOWS = "read a single text that is longer than max_length in overlapping windows"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRow:
    """A row with a text or a pair."""

    id: str
    text: str
    pair: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The text, or both texts of a pair."""
        return (self.text,) if self.pair is None else (self.text, self.pair)

    @property
    def input(self) -> str:
        """The texts as one."""
        return "\n".join(self.texts)


@dataclass(frozen=True, slots=True)
class EncodedText:
    """The tokens of a text or a pair, or of a window."""

    ids: list[int]
    segments: list[int] | None
    truncated: bool = False


def tokenized(
    texts: Sequence[str], pairs: Sequence[str] | None, tokenizer: "PreTrainedTokenizerBase", **settings: Any
) -> Iterator[tuple[list[int], list[int] | None, Any]]:
    """(ids, segments, `Encoding` of the library tokenizers) of each text or pair."""
    for begin in range(0, len(texts), ROWS_AT_ONCE):
        part = slice(begin, begin + ROWS_AT_ONCE)
        encoded = tokenizer(list(texts[part]), pairs and list(pairs[part]), verbose=False, **settings)
        segments = encoded.get("token_type_ids") or repeat(None)
        yield from zip(encoded["input_ids"], segments, encoded.encodings, strict=False)


def encode_texts(
    texts: Sequence[str], pairs: Sequence[str] | None, tokenizer: "PreTrainedTokenizerBase", max_length: int
) -> Iterator[EncodedText]:
    """`[CLS] text [SEP]` or `[CLS] text [SEP] pair [SEP]`, the longer of a pair truncated first."""
    for ids, segments, encoding in tokenized(texts, pairs, tokenizer, truncation=True, max_length=max_length):
        yield EncodedText(ids, segments, bool(encoding.overflowing))


def encode_windows(
    texts: Sequence[str], tokenizer: "PreTrainedTokenizerBase", max_length: int
) -> Iterator[list[EncodedText]]:
    """Encodes each text as `[CLS] text [SEP]`, longer ones as windows that overlap by a quarter."""
    for ids, segments, encoding in tokenized(texts, None, tokenizer):
        if len(ids) <= max_length:
            yield [EncodedText(ids, segments)]
            continue
        first, end = inner_tokens(encoding.special_tokens_mask)
        size = max_length - first - len(ids) + end
        windows = []
        for start in window_starts(end - first, size=size, step=size - size // 4):
            last = min(first + start + size, end)
            ids_there, *types = (
                [*sequence[:first], *sequence[first + start : last], *sequence[end:]]
                for sequence in (ids, segments)
                if sequence
            )
            windows.append(EncodedText(ids_there, types[0] if types else None))
        yield windows


def inner_tokens(special: Sequence[int]) -> tuple[int, int]:
    """(index of the first token, index after the last) between the special tokens at both ends."""
    return special.index(0), len(special) - special[::-1].index(0)


def logits_by_row(logits: Sequence[np.ndarray], features: Sequence[Feature], count: int) -> np.ndarray:
    """The mean logits of each row's features, `(count, labels)`."""
    stacked = np.stack(logits)
    owners = np.array([feature.row for feature in features])
    means = np.zeros((count, stacked.shape[1]), dtype=stacked.dtype)
    np.add.at(means, owners, stacked)
    means /= np.maximum(1, np.bincount(owners, minlength=count))[:, None]
    return means


@dataclass(frozen=True, kw_only=True)
class PooledTask(Task):
    """A text or a pair a row, which `read(source, split)` returns; subclasses say what is predicted of it.

    With `windows` a single text that is longer than `max_length` is read in windows that overlap by a quarter, and
    their logits are averaged; a pair is always truncated.
    """

    @property
    def kind(self) -> LabelKind:
        """The meaning of a row's logits: one class, a number, or each label apart."""
        return "number"

    def load(self, source: Source, split: str) -> Rows:
        """The rows of a split. Raises UserError that names the row for a wrong label, for half a pair, and for a pair
        among single texts.
        """
        loaded = super().load(source, split)
        for row in loaded.rows:
            if (row.pair is None) != (loaded.rows[0].pair is None):
                fault = f"is {'no ' * (row.pair is None)}pair, unlike the first row"
                raise UserError(f"{loaded.origin}: row '{row.id}' {fault}", "Fix that row")
        return loaded

    def fit(self, train: Sequence[Any]) -> Self:
        """The task with the names of its inputs."""
        names = ("text", "pair")[: len(train[0].texts)] if len(train) else ()
        return replace(self, inputs=self.inputs or names)

    def row(self, text: str, pair: str | None = None) -> Any:
        """A sentence, or a pair."""
        assert self.row_type is not None
        return self.row_type(id="", text=text, pair=pair)

    def encode(self, rows: Sequence[Any], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> list[Feature]:
        """A feature for each row; with `windows` one for each window of a long text."""
        labels = [self.label_for_loss(row) for row in rows]
        return [
            Feature(
                row=index,
                input_ids=part.ids,
                token_type_ids=part.segments,
                label=labels[index],
                truncated=part.truncated,
            )
            for index, parts in enumerate(self.encoded(rows, tokenizer, max_length))
            for part in parts
        ]

    def encoded(
        self, rows: Sequence[Any], tokenizer: "PreTrainedTokenizerBase", max_length: int
    ) -> Iterable[Sequence[EncodedText]]:
        """The tokens of each row."""
        texts, pairs = [row.text for row in rows], [row.pair for row in rows if row.pair is not None]
        if getattr(self, "windows", False) and not pairs:
            return encode_windows(texts, tokenizer, max_length)
        return ([text] for text in encode_texts(texts, pairs or None, tokenizer, max_length))

    def label_for_loss(self, row: Any) -> Any:
        """The label of a row as its head's loss reads it; None where it has none."""
        return row.gold

    def decode(self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Any]) -> list[Answer]:
        """The logit as a number, the mean of several windows."""
        return [Answer(value=float(row[0])) for row in logits_by_row(logits, features, len(rows))]

    def cells(self, answer: Answer, row: Any) -> dict[str, Any]:
        """The prediction, and the probability of each label."""
        chances = zip(self.label_names, answer.probabilities or (), strict=False)
        return {"prediction": answer.value, **{f"p({label})": float(p) for label, p in chances}}

    def explain_target(self, row: Any, answer: Answer, features: Sequence[Feature], asked: Asked) -> ExplainTarget:
        """The number; else each predicted label, the one asked for, or the likeliest where none is predicted."""
        asked.require_no_word()
        names, against = self.label_names or ("the score",), 0 if self.kind == "class" else None
        chances = dict(zip(names, answer.probabilities or (), strict=False))
        confidence = None
        if self.kind == "number":
            asked.require_no_label("this model predicts a number, not labels")
            prediction, labels = f"{answer.value:.4g}", names
        elif self.kind == "class":
            prediction, confidence = answer.value, chances[answer.value]
            labels = (asked.one_of(names) or answer.value,)
        else:
            prediction, label = ", ".join(answer.value) or "no label", asked.one_of(names)
            labels = (label,) if label else answer.value or (max(chances, key=chances.__getitem__),)
        targets = []
        for label in labels:
            place, weight = (names.index(label),), 1 / len(features)  # the mean over the row's windows
            picks = [Pick(feature=n, place=place, against=against, weight=weight) for n in range(len(features))]
            targets.append(Target(label=label, picks=picks, confidence=chances.get(label)))
        titles = zip(("text", "second text"), row.texts, strict=False)
        texts = [NamedText(name=title, text=text) for title, text in titles]
        return ExplainTarget(texts=[texts], prediction=prediction, confidence=confidence, targets=targets)

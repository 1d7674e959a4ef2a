"""Shared by task types on the pooled output: from texts to features, and from logits of windows to rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.feature import Feature
from finetune.models.tokenizers.encoding import window_starts
from finetune.task_types import baselines
from finetune.task_types.explained import NamedText
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

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


AnyTextRow = TypeVar("AnyTextRow", bound=TextRow)


@dataclass(frozen=True, slots=True)
class EncodedText:
    """The tokens of a text or a pair."""

    ids: list[int]
    segments: list[int] | None
    truncated: bool


def encode_texts(
    texts: Sequence[str], pairs: Sequence[str] | None, tokenizer: "PreTrainedTokenizerBase", max_length: int
) -> list[EncodedText]:
    """`[CLS] text [SEP]` or `[CLS] text [SEP] pair [SEP]`, the longer of a pair truncated first."""
    found: list[EncodedText] = []
    for begin in range(0, len(texts), ROWS_AT_ONCE):
        part = slice(begin, begin + ROWS_AT_ONCE)
        encoded = tokenizer(list(texts[part]), pairs and list(pairs[part]), truncation=True, max_length=max_length)
        segments = encoded.get("token_type_ids", [None] * len(encoded["input_ids"]))
        found += [
            EncodedText(ids, segments[index], bool(encoded.encodings[index].overflowing))
            for index, ids in enumerate(encoded["input_ids"])
        ]
    return found


def encode_windows(
    texts: Sequence[str], tokenizer: "PreTrainedTokenizerBase", max_length: int
) -> Iterator[list[EncodedText]]:
    """Encodes each text as `[CLS] text [SEP]`, longer ones as windows that overlap by a quarter."""
    for begin in range(0, len(texts), ROWS_AT_ONCE):
        part = list(texts[begin : begin + ROWS_AT_ONCE])
        encoded = tokenizer(part, return_special_tokens_mask=True, verbose=False)
        segments = encoded.get("token_type_ids", [None] * len(part))
        for ids, types, special in zip(encoded["input_ids"], segments, encoded["special_tokens_mask"], strict=True):
            windows = _windows(special, max_length)
            yield [EncodedText(_joined(ids, parts), types and _joined(types, parts), False) for parts in windows]


def text_features(
    rows: Sequence[TextRow],
    labels: Sequence[Any],
    tokenizer: "PreTrainedTokenizerBase",
    max_length: int,
    *,
    windows: bool,
) -> list[Feature]:
    """One feature per row; with `windows` one per window of a long text. Pairs are always truncated."""
    texts, pairs = [row.text for row in rows], [row.pair for row in rows if row.pair is not None]
    encoded: Iterator[list[EncodedText]]
    if windows and not pairs:
        encoded = encode_windows(texts, tokenizer, max_length)
    else:
        encoded = ([one] for one in encode_texts(texts, pairs or None, tokenizer, max_length))
    return [
        Feature(row=index, input_ids=one.ids, token_type_ids=one.segments, label=labels[index], truncated=one.truncated)
        for index, some in enumerate(encoded)
        for one in some
    ]


def logits_by_row(logits: Sequence[np.ndarray], features: Sequence[Feature], count: int) -> np.ndarray:
    """The mean logits of each row's features, `(count, labels)`."""
    given = np.stack(logits)
    owners = np.array([feature.row for feature in features])
    means = np.zeros((count, given.shape[1]), dtype=given.dtype)
    np.add.at(means, owners, given)
    means /= np.bincount(owners, minlength=count)[:, None]
    return means


def read_by_tfidf(train: Sequence[AnyTextRow]) -> Sequence[AnyTextRow]:
    """The training rows that TF-IDF reads."""
    chosen = baselines.read_rows(row.texts for row in train)
    return train if len(chosen) == len(train) else [train[index] for index in chosen]


def tfidf_notes(train: Sequence[TextRow]) -> list[str]:
    """A note on how many of the training rows TF-IDF read, where these are not all."""
    read = len(baselines.read_rows(row.texts for row in train))
    return [f"TF-IDF read {read:,} of the {len(train):,} training rows, sampled at random"] * (read < len(train))


@dataclass(frozen=True, kw_only=True)
class PooledTask(Task):
    """A text or a pair a row, which `read(source, split)` returns; subclasses say what is predicted of it.

    With `windows` a single text that is longer than `max_length` is read in windows that overlap by a quarter, and
    their logits are averaged; a pair is always truncated.
    """

    read: Callable[[Source, str], Rows]

    def load(self, source: Source, split: str) -> Rows:
        """The rows of a split. Raises UserError that names the row for a wrong label, for half a pair, and for a pair
        among single texts.
        """
        loaded = self.checked(self.read(source, split))
        paired = bool(loaded.rows) and loaded.rows[0].pair is not None
        for row in loaded.rows:
            if (row.pair is not None) != paired:
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
        """`[CLS] text [SEP]` or `[CLS] text [SEP] pair [SEP]`, the longer of a pair truncated first; or windows."""
        labels, windows = [self.label_for_loss(row) for row in rows], getattr(self, "windows", False)
        return text_features(rows, labels, tokenizer, max_length, windows=windows)

    def label_for_loss(self, row: Any) -> Any:
        """The label of a row as its head's loss reads it; None where it has none."""
        return row.gold

    def labels_of(self, rows: Sequence[Any]) -> list[Answer]:
        return [Answer(value=row.gold) for row in rows]

    def baseline_notes(self, train: Sequence[Any]) -> list[str]:
        """A note on how many rows TF-IDF read, where these are not all."""
        return tfidf_notes(train)

    def explain_texts(self, row: Any) -> list[list[NamedText]]:
        """The text, or both texts of a pair."""
        names = ("text", "second text")
        return [[NamedText(name=name, text=text) for name, text in zip(names, row.texts, strict=False)]]

    def cells(self, answer: Answer, row: Any) -> dict[str, Any]:
        """The prediction, and the probability of each label."""
        chances = zip(getattr(self, "labels", ()), answer.probabilities or (), strict=False)
        return {"prediction": answer.value, **{f"p({label})": float(p) for label, p in chances}}


def _windows(special: Sequence[int], max_length: int) -> Iterator[tuple[slice, ...]]:
    """The token slices of a text's windows, between the special tokens at both ends."""
    if len(special) <= max_length:
        yield (slice(None),)
        return
    before, after = special.index(0), special[::-1].index(0)
    tokens, size = len(special) - before - after, max_length - before - after
    for start in window_starts(tokens, size=size, step=size - size // 4):
        middle = slice(before + start, before + min(start + size, tokens))
        yield slice(before), middle, slice(before + tokens, None)


def _joined(tokens: Sequence[int], parts: Sequence[slice]) -> list[int]:
    return list(chain.from_iterable(tokens[part] for part in parts))

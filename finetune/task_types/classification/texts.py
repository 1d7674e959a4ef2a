"""Texts and pairs: their rows, their tokens, windows of long texts, and the base of tasks on the pooled output."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.feature import Feature
from finetune.models.tokenizers.encoding import window_starts
from finetune.task_types import baselines
from finetune.task_types.explained import Asked, ExplainTarget, NamedText, Pick, Target, averaged
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

LabelKind = Literal["class", "number", "steps", "flags"]
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
    """The tokens of a text or a pair, or of a window; `reads` are the positions of two opening markers."""

    ids: list[int]
    segments: list[int] | None
    truncated: bool = False
    reads: list[int] | None = None


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
        windows = _windows(encoding.special_tokens_mask, max_length)
        yield [EncodedText([ids[i] for i in some], segments and [segments[i] for i in some]) for some in windows]


def _windows(special: Sequence[int], max_length: int) -> Iterator[Sequence[int]]:
    """The indexes of the tokens of a text's windows, each with the special tokens at both ends."""
    if len(special) <= max_length:
        yield range(len(special))
        return
    first, end = inner_tokens(special)
    size = max_length - first - len(special) + end
    for start in window_starts(end - first, size=size, step=size - size // 4):
        yield [*range(first), *range(first + start, min(first + start + size, end)), *range(end, len(special))]


def inner_tokens(special: Sequence[int]) -> tuple[int, int]:
    """(index of the first token, index after the last) between the special tokens at both ends."""
    return special.index(0), len(special) - special[::-1].index(0)


def logits_by_row(logits: Sequence[np.ndarray], features: Sequence[Feature], count: int) -> np.ndarray:
    """The mean logits of each row's features, `(count, labels)`."""
    given = np.stack(logits)
    owners = np.array([feature.row for feature in features])
    means = np.zeros((count, given.shape[1]), dtype=given.dtype)
    np.add.at(means, owners, given)
    means /= np.maximum(1, np.bincount(owners, minlength=count))[:, None]
    return means


def read_by_tfidf(train: Sequence[Any]) -> list[Any]:
    """The training rows that TF-IDF reads."""
    return [train[index] for index in baselines.read_rows(row.texts for row in train)]


def tfidf_notes(train: Sequence[TextRow]) -> list[str]:
    """A note on how many of the training rows TF-IDF read, where these are not all."""
    read = len(read_by_tfidf(train))
    return [f"TF-IDF read {read:,} of the {len(train):,} training rows, sampled at random"] * (read < len(train))


@dataclass(frozen=True, kw_only=True)
class PooledTask(Task):
    """A text or a pair a row, which `read(source, split)` returns; subclasses say what is predicted of it.

    With `windows` a single text that is longer than `max_length` is read in windows that overlap by a quarter, and
    their logits are averaged; a pair is always truncated.
    """

    read: Callable[[Source, str], Rows]

    @property
    def kind(self) -> LabelKind:
        """The meaning of a row's logits: one class, a number, steps between ordered classes, or each label apart."""
        return "number"

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
        """A feature for each row; with `windows` one for each window of a long text."""
        labels = [self.label_for_loss(row) for row in rows]
        return [
            Feature(
                row=index,
                input_ids=one.ids,
                token_type_ids=one.segments,
                label=labels[index],
                reads=one.reads,
                truncated=one.truncated,
            )
            for index, parts in enumerate(self.encoded(rows, tokenizer, max_length))
            for one in parts
        ]

    def encoded(
        self, rows: Sequence[Any], tokenizer: "PreTrainedTokenizerBase", max_length: int
    ) -> Iterable[Sequence[EncodedText]]:
        """The tokens of each row."""
        texts, pairs = [row.text for row in rows], [row.pair for row in rows if row.pair is not None]
        if getattr(self, "windows", False) and not pairs:
            return encode_windows(texts, tokenizer, max_length)
        return ([one] for one in encode_texts(texts, pairs or None, tokenizer, max_length))

    def label_for_loss(self, row: Any) -> Any:
        """The label of a row as its head's loss reads it; None where it has none."""
        return row.gold

    def decode(self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Any]) -> list[Answer]:
        """The logit as a number, the mean of several windows."""
        return [Answer(value=float(row[0])) for row in logits_by_row(logits, features, len(rows))]

    def labels_of(self, rows: Sequence[Any]) -> list[Answer]:
        return [Answer(value=row.gold) for row in rows]

    def baseline_notes(self, train: Sequence[Any]) -> list[str]:
        """A note on how many rows TF-IDF read, where these are not all."""
        return tfidf_notes(train)

    def cells(self, answer: Answer, row: Any) -> dict[str, Any]:
        """The prediction, and the probability of each label."""
        chances = zip(self.label_names, answer.probabilities or (), strict=False)
        return {"prediction": answer.value, **{f"p({label})": float(p) for label, p in chances}}

    def explain_texts(self, row: Any) -> list[list[NamedText]]:
        """The text, or both texts of a pair."""
        names = ("text", "second text")
        return [[NamedText(name=name, text=text) for name, text in zip(names, row.texts, strict=False)]]

    def explain_target(self, row: Any, answer: Answer, features: Sequence[Feature], asked: Asked) -> ExplainTarget:
        """The number; else each predicted label, the one asked for, or the likeliest where none is predicted."""
        asked.require_no_word()
        count = len(features)
        if self.kind == "number":
            asked.require_no_label("this model predicts a number, not labels")
            target = Target(label="the score", picks=averaged(count, 0, against=None))
            return ExplainTarget(prediction=f"{answer.value:.4g}", confidence=None, targets=[target])
        names, predicted = self.label_names, answer.value if self.kind == "flags" else [answer.value]
        chances = dict(zip(names, answer.probabilities or (), strict=True))
        given = asked.one_of(names)
        targets = [
            Target(
                label=label,
                picks=self._picks(names.index(label), count),
                confidence=None if self.kind == "steps" else chances[label],
            )
            for label in ([given] if given else predicted or [max(chances, key=chances.__getitem__)])
        ]
        confidence = None if self.kind == "flags" else chances[answer.value]
        return ExplainTarget(prediction=", ".join(predicted) or "no label", confidence=confidence, targets=targets)

    def _picks(self, place: int, count: int) -> list[Pick]:
        if self.kind != "steps":
            return averaged(count, place, against=0 if self.kind == "class" else None)
        up = averaged(count, place - 1, against=None) if place else []
        beyond = averaged(count, place, against=None) if place < len(self.label_names) - 1 else []
        return [*up, *(replace(pick, weight=-pick.weight) for pick in beyond)]

"""Questions about contexts, and their features: a long context gives several windows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.models.feature import IGNORED, Feature
from finetune.models.tokenizers.encoding import character_offsets, most_context, template_of, window_starts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ROWS_AT_ONCE = 2_000  # tokenized at once, to bound memory
LEAST_ROOM = 4  # fewest tokens of context in a window


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRow:
    """A question about a context.

    `answers` are the label texts: empty without an answer in the context, None for an unknown label. `start` is the
    character at which the first begins.
    """

    id: str
    question: str
    context: str
    answers: tuple[str, ...] | None = None
    start: int | None = None
    title: str = ""

    @property
    def gold(self) -> tuple[str, ...] | None:
        return self.answers

    @property
    def input(self) -> str:
        return f"{self.question}\n{self.context}"


def encode_questions(
    rows: Sequence[SpanRow], tokenizer: "PreTrainedTokenizerBase", max_length: int, *, stride: int, most_asked: int
) -> list[Feature]:
    """`[CLS] question [SEP] part of the context [SEP]`; a long context gives several windows, `stride` apart.

    A question is truncated to `most_asked` tokens. The label is the first and the last token of the answer, twice
    0, that is `[CLS]`, where a window has none. Their notes are
    Windows. Raises UserError for a max_length that leaves no room for the context.
    """
    template = template_of(tokenizer)
    features: list[Feature] = []
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[begin : begin + ROWS_AT_ONCE]
        texts = list(dict.fromkeys(row.context for row in some))
        contexts = dict(zip(texts, _tokens(texts, tokenizer), strict=True))
        questions = _tokens([row.question.lstrip() for row in some], tokenizer)
        for index, (row, (asked, _)) in enumerate(zip(some, questions, strict=True), start=begin):
            question, (context, characters) = asked[:most_asked], contexts[row.context]
            room = max_length - template.special_tokens - len(question)
            if room < LEAST_ROOM:
                what = f"max_length {max_length} leaves {so_many(room, 'token')} for the context"
                raise UserError(
                    f"{what} after question '{row.id}'",
                    "Raise max_length, or lower options.max_question_tokens",
                )
            starts = window_starts(len(context), size=room, step=min(stride, room))
            owner = most_context(np.arange(len(context)), starts, tokens=len(context), size=room)
            place = len(template.before) + len(question) + len(template.between)
            for number, start in enumerate(starts):
                part = slice(start, start + room)
                input_ids, segments = template.fill(question, context[part])
                features.append(
                    Feature(
                        row=index,
                        input_ids=input_ids,
                        token_type_ids=segments,
                        label=_label(row, characters, start, len(context[part]), place),
                        truncated=len(asked) > most_asked,
                        note={
                            "place": place,
                            "starts": characters[part, 0],
                            "ends": characters[part, 1],
                            "owned": owner[part] == number,
                        },
                    )
                )
    return features


def _tokens(texts: Sequence[str], tokenizer: "PreTrainedTokenizerBase") -> list[tuple[np.ndarray, np.ndarray]]:
    """(token ids, character offsets `(tokens, 2)`) of each text, without special tokens."""
    encoded = tokenizer(list(texts), add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    return [
        (np.array(ids, dtype=np.int32), character_offsets(text, characters))
        for text, ids, characters in zip(texts, encoded["input_ids"], encoded["offset_mapping"], strict=True)
    ]


def _label(row: SpanRow, characters: np.ndarray, start: int, length: int, place: int) -> tuple[int, int] | None:
    """First and last token of the answer in the window of `length` context tokens from `start` on, whose index in
    the feature begins at `place`. Answers that are not in the context are ignored in the loss.
    """
    if row.answers is None:
        return None
    if not row.answers:
        return 0, 0
    if row.start is None:
        return IGNORED, IGNORED
    first = int(np.searchsorted(characters[:, 1], row.start, side="right"))
    last = int(np.searchsorted(characters[:, 0], row.start + len(row.answers[0].rstrip()), side="left")) - 1
    inside = start <= first <= last < start + length
    return (place + first - start, place + last - start) if inside else (0, 0)

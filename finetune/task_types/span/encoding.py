"""Encodes questions and contexts as features: a long context gives several windows."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.models.feature import IGNORED, Feature
from finetune.models.tokenizers.encoding import Template, character_offsets, most_context, template_of, window_starts
from finetune.task_types.span.row import SpanRow

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ROWS_AT_ONCE = 2_000  # tokenized at once, to bound memory
LEAST_ROOM = 4  # fewest tokens of context in a window


def encode_questions(
    rows: Sequence[SpanRow], tokenizer: "PreTrainedTokenizerBase", max_length: int, *, stride: int, most_asked: int
) -> list[Feature]:
    """`[CLS] question [SEP] part of the context [SEP]`; a long context gives several windows, `stride` apart.

    A question is truncated to `most_asked` tokens. The label is the first and the last token of the answer, twice
    0, that is `[CLS]`, where a window has none. Raises UserError for a max_length that leaves no room for the context.
    """
    template = template_of(tokenizer)
    features: list[Feature] = []
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[begin : begin + ROWS_AT_ONCE]
        texts = list(dict.fromkeys(row.context for row in some))
        contexts = dict(zip(texts, _tokens(texts, tokenizer), strict=True))
        questions = _tokens([row.question.lstrip() for row in some], tokenizer)
        for index, (row, (question, _)) in enumerate(zip(some, questions, strict=True), start=begin):
            asked, cut = question[:most_asked], len(question) > most_asked
            tokens = contexts[row.context]
            features += _windows(index, row, asked, *tokens, template, max_length, stride, truncated=cut)
    return features


def _windows(
    index: int,
    row: SpanRow,
    question: np.ndarray,
    context: np.ndarray,
    characters: np.ndarray,
    template: Template,
    max_length: int,
    stride: int,
    *,
    truncated: bool,
) -> Iterator[Feature]:
    """The features of row number `index`, from the tokens of its question and its context; their notes are Windows."""
    room = max_length - template.special_tokens - len(question)
    if room < LEAST_ROOM:
        raise UserError(
            f"max_length {max_length} leaves {so_many(room, 'token')} for the context after question '{row.id}'",
            "Raise max_length, or lower options.max_question_tokens",
        )
    starts = window_starts(len(context), size=room, step=min(stride, room))
    owner = most_context(np.arange(len(context)), starts, tokens=len(context), size=room)
    place = len(template.before) + len(question) + len(template.between)
    for number, start in enumerate(starts):
        part = slice(start, start + room)
        input_ids, segments = template.fill(question, context[part])
        yield Feature(
            row=index,
            input_ids=input_ids,
            token_type_ids=segments,
            label=_label(row, characters, start, len(context[part]), place),
            truncated=truncated,
            note={
                "place": place,
                "starts": characters[part, 0],
                "ends": characters[part, 1],
                "owned": owner[part] == number,
            },
        )


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

"""Tokens of texts with two marked spans: what is longer than `max_length` is cut around the spans."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING

import numpy as np

from finetune.errors import UserError
from finetune.task_types.text_inputs.markers import Opening, distinct_markers, markers_in, plain

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ROWS_AT_ONCE = 2_000  # tokenized at once, to bound memory
LEAST_TOKENS = 12  # four markers, what they mark, three gaps


@dataclass(frozen=True, slots=True)
class EncodedSpans:
    """The tokens of a marked text, and the positions of its two opening markers."""

    ids: list[int]
    segments: list[int] | None
    reads: list[int]
    truncated: bool


def encode_marked(
    texts: Sequence[str],
    tokenizer: "PreTrainedTokenizerBase",
    max_length: int,
    opening: Opening,
    *,
    names: Sequence[str] = (),
) -> Iterator[EncodedSpans]:
    """Encodes each text as `[CLS] text [SEP]`, with all four markers.

    Raises UserError for a marker that the tokenizer does not have, with the row's name where it has one of `names`,
    and for a `max_length` without room for the spans.
    """
    for begin in range(0, len(texts), ROWS_AT_ONCE):
        part = list(texts[begin : begin + ROWS_AT_ONCE])
        places = _marker_ids(part, tokenizer, opening, names=names[begin : begin + ROWS_AT_ONCE])
        encoded = tokenizer(part, return_special_tokens_mask=True, verbose=False)
        segments = encoded.get("token_type_ids", [None] * len(part))
        for text, ids, types, special in zip(
            part, encoded["input_ids"], segments, encoded["special_tokens_mask"], strict=True
        ):
            kept = list(range(len(ids)))
            if len(ids) > max_length:
                kept = _kept(ids, special, {*places.values()}, max_length, gaps=tokenizer.sep_token_id is not None)
            shown = [tokenizer.sep_token_id if index < 0 else ids[index] for index in kept]
            reads = [shown.index(places[marker]) for marker in _openers(text, opening)]
            yield EncodedSpans(shown, types and [types[max(index, 0)] for index in kept], reads, len(ids) > max_length)


def _openers(text: str, opening: Opening) -> list[str]:
    """The two opening markers as the text has them, the first of `opening` first."""
    found = {plain(marker): marker for marker in markers_in(text, opening)}
    return [found[marker] for marker in opening]


def _marker_ids(
    texts: Sequence[str], tokenizer: "PreTrainedTokenizerBase", opening: Opening, *, names: Sequence[str]
) -> dict[str, int]:
    """The token of each marker. Raises UserError for one that the tokenizer does not have."""
    known = tokenizer.get_added_vocab()
    found = distinct_markers(texts, opening)
    if missing := sorted((marker for marker in found if marker not in known), key=lambda marker: "/" in marker):
        kinds = sorted({marker for marker in known if plain(marker) == plain(missing[0])})
        name = next((name for name, text in zip(names, texts, strict=False) if missing[0] in text), "")
        row = f"row '{name}'" if name else "the row"
        raise UserError(
            f"{row} has the marker {missing[0]}, and the model knows {', '.join(kinds) or 'no markers'}",
            "TextMark it as the training rows do, or train on rows that have it",
        )
    return {marker: known[marker] for marker in found}


def _kept(
    ids: Sequence[int], special: Sequence[int], markers: Collection[int], max_length: int, *, gaps: bool
) -> list[int]:
    """The indexes of the tokens that are kept, -1 where some are left out between them."""
    before, after = special.index(0), special[::-1].index(0)
    inner, room = range(before, len(ids) - after), max_length - before - after
    if room < LEAST_TOKENS:
        least = LEAST_TOKENS + before + after
        raise UserError(f"max_length is {max_length}: too few tokens for two spans", f"Set max_length={least} at least")
    places = [index - before for index in inner if ids[index] in markers]
    for cut in range(len(places)):  # between four markers there are at most three gaps
        chosen = nearest_tokens(len(inner), places, room - cut * gaps)
        parts = [[before + index for _, index in run] for _, run in groupby(enumerate(chosen), lambda x: x[1] - x[0])]
        if len(parts) - 1 <= cut or not gaps:
            break
    joined = list(chain.from_iterable([*part, *([-1] if gaps else [])] for part in parts))
    return [*range(before), *(joined[:-1] if gaps else joined), *range(inner.stop, len(ids))]


def nearest_tokens(count: int, places: Sequence[int], room: int) -> list[int]:
    """As many of `count` tokens as there is room for: those at the spans' markers, then the nearest to them.

    What is between the spans comes first, where it fits; else its middle is left out, as is that of a very long span.
    """
    every = np.arange(count)
    first, last = min(places), max(places)
    if last - first < room:
        distances = np.maximum(np.maximum(first - every, every - last), 0)
    else:
        distances = np.abs(every[:, None] - np.asarray(places)).min(1)
    return sorted(np.argsort(distances, kind="stable")[:room].tolist())

"""Two spans of a text, marked in it: `<subj:PER>Ann</subj:PER> founded <obj>Acme</obj>` (Baldini Soares et al. 2019).

A marked text is an ordinary text, so that whatever reads texts reads it: baselines, reports, predictions of a stream.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from finetune.errors import UserError
from finetune.task_types.classification.texts import EncodedText, TextRow, inner_tokens, tokenized

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

CUT_AROUND = "what is far from the two spans is left out"
Opening = tuple[str, ...]  # the two opening markers; `<e1>` is closed by `</e1>`
SUBJECT_OBJECT: Opening = ("<subj>", "<obj>")  # KLUE's, for spans that are not marked in the text
IN_TEXT = re.compile(r"<[A-Za-z]\w*>|\[[A-Za-z]\w*\]")  # an opening marker without a type
BRACKETS = re.compile(r"[<>\[\]\s]")  # which the type of an entity has none of
LEAST_TOKENS = 12  # four markers, what they mark, three gaps


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitySpan:
    """Characters of a text, from `start` up to `end`, and the type of the entity there, if it is known."""

    start: int
    end: int
    type: str = ""


@lru_cache(maxsize=64)
def _pattern(opening: Opening) -> re.Pattern[str]:
    patterns = (
        f"{re.escape(marker[0])}/?{re.escape(marker[1:-1])}(?::[^<>\\[\\]]+)?{re.escape(marker[-1])}"
        for marker in opening
    )
    return re.compile("|".join(patterns))


def plain(marker: str) -> str:
    """A marker without its type: `</subj>` for `</subj:PER>`."""
    return marker.partition(":")[0] + marker[-1] if ":" in marker else marker


def closing(opening: str) -> str:
    """The marker that ends what this one begins."""
    return f"{opening[0]}/{opening[1:]}"


def markers_in(text: str, opening: Opening) -> list[str]:
    """The markers of a text, in order."""
    return _pattern(opening).findall(text)


def with_markers(text: str, spans: Sequence[EntitySpan], opening: Opening) -> str:
    """A text with its spans marked; one within the other is marked within its markers."""
    places = []
    for span, marker in zip(spans, opening, strict=True):
        typed = f"{marker[:-1]}:{span.type}{marker[-1]}" if span.type else marker
        places += [(span.start, 1, -span.end, typed), (span.end, 0, -span.start, closing(typed))]
    parts, done = [], 0
    for place, _, _, marker in sorted(places):
        parts += [text[done:place], marker]
        done = place
    return "".join([*parts, text[done:]])


def spans_fault(spans: Sequence[EntitySpan]) -> str:
    """Why two spans cannot be marked, in words that follow `row 5`; empty where they can."""
    first, second = sorted(spans, key=lambda span: (span.start, -span.end))
    if (first.start, first.end) == (second.start, second.end):
        return "has the same span twice"
    return "has two spans that cross" if first.start < second.start < first.end < second.end else ""


def without_markers(text: str, opening: Opening, instead: str = "") -> str:
    """A text with `instead` for each of its markers."""
    return _pattern(opening).sub(lambda _: instead, text)


def without_types(text: str, opening: Opening) -> str:
    """A text whose markers do not say the type of an entity."""
    return _pattern(opening).sub(lambda marker: plain(marker[0]), text)


def distinct_markers(texts: Iterable[str], opening: Opening) -> list[str]:
    """The markers that occur in some texts, in alphabetical order."""
    return sorted({marker for text in texts for marker in markers_in(text, opening)})


def marker_fault(text: str, opening: Opening) -> str:
    """Why a text does not have both spans marked, in words that follow `row 5`; empty where it does."""
    markers = markers_in(text, opening)
    counts, bare = Counter(map(plain, markers)), [plain(marked) for marked in markers]
    for marker in (marked for pair in opening for marked in (pair, closing(pair))):
        if counts[marker] != 1:
            return f"has no {marker}" if not counts[marker] else f"has {marker} {counts[marker]} times"
    for marker in opening:
        first, last = bare.index(marker), bare.index(closing(marker))
        if last < first:
            return f"has {closing(marker)} before {marker}"
        inside = without_markers(text.partition(markers[first])[2].partition(markers[last])[0], opening)
        if not inside.strip():
            return f"has no text between {marker} and {closing(marker)}"
    return ""


def encode_marked(
    rows: Sequence[TextRow], tokenizer: "PreTrainedTokenizerBase", max_length: int, opening: Opening
) -> Iterator[EncodedText]:
    """Encodes each text as `[CLS] text [SEP]`, with all four markers; a longer one is cut around the spans.

    Raises UserError for a marker that the tokenizer does not have, and for a `max_length` without room for the spans.
    """
    vocabulary, gap = tokenizer.get_added_vocab(), tokenizer.sep_token_id
    for row in rows:
        for marker in sorted(markers_in(row.text, opening), key=lambda marker: "/" in marker):
            if marker not in vocabulary:
                kinds = sorted({other for other in vocabulary if plain(other) == plain(marker)})
                where = f"row '{row.id}'" if row.id else "the row"
                raise UserError(
                    f"{where} has the marker {marker}, and the model knows {', '.join(kinds) or 'no markers'}",
                    "Mark it as the training rows do, or train on rows that have it",
                )
    texts = [row.text for row in rows]
    markers = {vocabulary[marker] for marker in distinct_markers(texts, opening)}
    for ids, segments, encoding in tokenized(texts, None, tokenizer):
        if len(ids) <= max_length:
            yield EncodedText(ids, segments)
            continue
        places = _cut_around(ids, encoding.special_tokens_mask, markers, max_length, gaps=gap is not None)
        types = segments and [segments[max(place, 0)] for place in places]
        yield EncodedText([gap if place < 0 else ids[place] for place in places], types, True)


def _cut_around(
    ids: Sequence[int], special: Sequence[int], markers: Collection[int], max_length: int, *, gaps: bool
) -> list[int]:
    """The indexes of the tokens that stay, with `gaps` -1 where some are left out between them."""
    first, end = inner_tokens(special)
    others = len(ids) - (end - first)
    if max_length - others < LEAST_TOKENS:
        least = LEAST_TOKENS + others
        raise UserError(f"max_length is {max_length}: too few tokens for two spans", f"Set max_length={least} at least")
    places = [index - first for index in range(first, end) if ids[index] in markers]
    for cut in range(len(places)):  # between four markers there are at most three gaps
        chosen = [first + place for place in nearest_tokens(end - first, places, max_length - others - cut * gaps)]
        if not gaps or sum(b - a > 1 for a, b in pairwise(chosen)) <= cut:
            break
    middle = chosen[:1]
    for last, place in pairwise(chosen):
        middle += [-1, place] if gaps and place - last > 1 else [place]
    return [*range(first), *middle, *range(end, len(ids))]


def nearest_tokens(count: int, places: Sequence[int], room: int) -> list[int]:
    """As many of `count` tokens as there is room for: those at the spans' markers, then the nearest to them.

    Tokens between the spans come first, where they fit; else their middle is left out, as in a very long span.
    """
    tokens = np.arange(count)
    first, last = min(places), max(places)
    if last - first < room:
        distances = np.maximum(np.maximum(first - tokens, tokens - last), 0)
    else:
        distances = np.abs(tokens[:, None] - np.asarray(places)).min(1)
    return sorted(np.argsort(distances, kind="stable")[:room].tolist())

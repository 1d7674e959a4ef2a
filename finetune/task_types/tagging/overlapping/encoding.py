"""Encodes texts with spans: windows whose words are read, and for each of them the spans that begin there."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from finetune.models.feature import IGNORED, Feature
from finetune.models.tokenizers.encoding import character_offsets
from finetune.task_types.tagging.overlapping.row import LabelledSpan, OverlapRow
from finetune.task_types.tagging.segments import segmented
from finetune.task_types.words.encoding import owning_windows

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

BEGIN, END, OWNED = range(3)  # columns of a feature's note
COUNTED, WORD, CODE = range(3)  # columns of a feature's label
IS_WORD = -1  # the WORD of a label's row that is about a word, not about a span


@dataclass(frozen=True, kw_only=True)
class Places:
    """The words of a text in which a token begins: the index of that token (`first`), their first characters
    (`begins`), and the character after the last that their tokens have (`ends`); `(words,)` each.
    """

    first: np.ndarray
    begins: np.ndarray
    ends: np.ndarray

    def between(self, start: int, end: int) -> tuple[int, int]:
        """The numbers of the words in which the first and the last character of a span are."""
        first = int(np.searchsorted(self.begins, start, side="right")) - 1
        return max(0, first), max(0, int(np.searchsorted(self.begins, end, side="left")) - 1)


def encode_with_spans(
    rows: Sequence[OverlapRow],
    tokenizer: "PreTrainedTokenizerBase",
    max_length: int,
    *,
    types: Sequence[str],
    longest: int | None,
) -> list[Feature]:
    """Windows over texts. A span belongs to the one window that owns its first word, as in tagging, and is read there
    if its last word is in that window too.

    A feature reads the words that it owns and, of those behind them, as many as the `longest` span has words. Its
    `note` `(words, 3)` has their first characters, the characters after their last, and whether they are owned. Its
    `label` `(words + spans, 3)` has for each word 0, IGNORED if it is not owned, and IS_WORD; then for each span
    IGNORED, the number of its first word, and a code: the number of words behind that, times the number of types, plus
    that of the span's type.
    """
    encoded = tokenizer(
        [row.text for row in rows], add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )
    has_segments = "token_type_ids" in tokenizer.model_input_names
    all_places = [places_of(row.text, offsets) for row, offsets in zip(rows, encoded["offset_mapping"], strict=True)]
    all_codes = [_codes(row.gold or (), places, types) for row, places in zip(rows, all_places, strict=True)]
    features = []
    for number, (row, ids, places) in enumerate(zip(rows, encoded["input_ids"], all_places, strict=True)):
        for start, end, owned in owning_windows(places.first, len(ids), max_length - 2):
            inside = int(np.searchsorted(places.first, end))
            read = np.arange(owned[0], inside if longest is None else min(inside, owned[-1] + longest))
            is_owned = read <= owned[-1]
            features.append(
                Feature(
                    row=number,
                    input_ids=[tokenizer.cls_token_id, *ids[start:end], tokenizer.sep_token_id],
                    token_type_ids=[0] * (end - start + 2) if has_segments else None,
                    label=None if row.gold is None else _table(read, is_owned, all_codes[number]),
                    reads=(places.first[read] - start + 1).tolist(),
                    note=np.column_stack([places.begins[read], places.ends[read], is_owned]),
                )
            )
    return features


def places_of(text: str, offsets: Sequence[tuple[int, int]]) -> Places:
    """The words of a text in which a token begins. Of words that share a token (characters, mostly) only the first is
    one, and ends where the last of them does: no span begins or ends between them.
    """
    words, starts = segmented(text)
    owner = np.full(len(text) + 1, -1)
    for number, (start, word) in enumerate(zip(starts, words, strict=True)):
        owner[start : start + len(word)] = number
    first: dict[int, int] = {}
    ends = [start + len(word) for start, word in zip(starts, words, strict=True)]
    after: dict[int, int] = {}
    before = -1
    for place, (start, end) in enumerate(character_offsets(text, offsets).tolist()):
        inside = [number for number in owner[start:end].tolist() if number >= 0]
        if not inside:
            continue
        if inside[0] not in first and inside[0] > before:
            first[inside[0]] = place
            before = inside[0]
        after[before] = max(after.get(before, 0), ends[inside[-1]])
    chosen = sorted(first)
    return Places(
        first=np.array([first[number] for number in chosen], dtype=np.int64),
        begins=np.array([starts[number] for number in chosen], dtype=np.int64),
        ends=np.array([after[number] for number in chosen], dtype=np.int64),
    )


def _codes(gold: Sequence[LabelledSpan], places: Places, types: Sequence[str]) -> Mapping[int, list[int]]:
    """The codes of the spans that begin in each word, widened to whole words."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for start, end, label in gold if len(places.first) else ():
        first, last = places.between(start, end)
        found[first].append((last - first) * len(types) + types.index(label))
    return found


def _table(read: np.ndarray, owned: np.ndarray, codes: Mapping[int, list[int]]) -> np.ndarray:
    """The label of a feature: a row for each word that is read, and for each span that begins in an owned one."""
    words = np.column_stack([np.where(owned, 0, IGNORED), np.full(len(read), IS_WORD), np.zeros(len(read))])
    spans = [(IGNORED, place, code) for place, word in enumerate(read[owned].tolist()) for code in codes.get(word, ())]
    return np.concatenate([words, np.array(spans).reshape(-1, 3)]).astype(np.int64)

"""Which tokens of a row's sequences are which word of its texts, by the tokenizer's own word boundaries."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import TYPE_CHECKING

from finetune.models.tokenizers.encoding import character_offsets
from finetune.task_types.explained import NamedText

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

NEW_WORD = ("▁", "Ġ")  # how SentencePiece and byte-level BPE mark a token after a space


@dataclass(frozen=True, kw_only=True)
class ExplainedWord:
    """Characters of a text, and the (sequence, position) of its tokens; in windows and choices it occurs often."""

    text: NamedText
    start: int
    end: int
    places: list[tuple[int, int]] = field(default_factory=list)

    @property
    def surface(self) -> str:
        """The word as the user wrote it."""
        return self.text.text[self.start : self.end]


@dataclass(frozen=True, kw_only=True)
class TokensOfText:
    """A text's token ids, and the index of each one's word."""

    ids: list[int]
    owners: list[int]
    words: list[ExplainedWord]

    def add_places(self, start: int, count: int, *, sequence: int, position: int) -> None:
        """Adds to the words the places of `count` tokens from `start` on, which begin at a position of a sequence."""
        for index in range(count):
            self.words[self.owners[start + index]].places.append((sequence, position + index))


def find_words(
    sequences: Sequence[Sequence[int]], texts: Sequence[Sequence[NamedText]], tokenizer: "PreTrainedTokenizerBase"
) -> list[ExplainedWord]:
    """The words of the texts, in order, with their places in the sequences of token ids.

    `texts` has one list for all sequences, or one for each. A word that no sequence has (it was truncated) is left out.
    """
    known = {one.name: tokens_of_text(one, tokenizer) for some in texts for one in some}
    around = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id, tokenizer.mask_token_id}
    cursors = dict.fromkeys(known, 0)
    for number, ids in enumerate(sequences):
        if len(texts) > 1:
            cursors = dict.fromkeys(known, 0)
        names = [one.name for one in texts[number if len(texts) > 1 else 0]]
        runs = list(_runs(ids, around))
        regular = len(runs) == len(names)  # else a text has the characters of a special token
        for order, (place, run) in enumerate(runs):
            for name in names[order : order + 1] if regular else names:
                if (start := _find(run, known[name].ids, cursors[name])) is not None:
                    cursors[name] = start + (1 if regular else len(run))  # the next window begins later
                    known[name].add_places(start, len(run), sequence=number, position=place)
                    break
    return [word for tokens in known.values() for word in tokens.words if word.places]


def tokens_of_text(text: NamedText, tokenizer: "PreTrainedTokenizerBase") -> TokensOfText:
    """The tokens of a text without special tokens, and its words: its own where it has them, else the tokenizer's."""
    encoded = tokenizer(text.text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    spans = [
        _without_spaces(text.text, *span) for span in character_offsets(text.text, encoded["offset_mapping"]).tolist()
    ]
    if text.words is None:
        owners = _boundaries(encoded.word_ids(), tokenizer.convert_ids_to_tokens(encoded["input_ids"]))
        groups = [[spans[index] for index in group] for _, group in groupby(range(len(owners)), owners.__getitem__)]
        edges = [(min(start for start, _ in some), max(end for _, end in some)) for some in groups]
    else:
        edges = list(text.words)
        owners = [bisect_right([start for start, _ in edges], start) - 1 for start, _ in spans]
    return TokensOfText(
        ids=encoded["input_ids"],
        owners=owners,
        words=[ExplainedWord(text=text, start=start, end=end) for start, end in edges],
    )


def _boundaries(numbers: Sequence[int | None], tokens: Sequence[str]) -> list[int]:
    """The number of each token's word, from 0; some tokenizers count a whole text as one word."""
    owners: list[int] = []
    for index, (number, token) in enumerate(zip(numbers, tokens, strict=True)):
        begins = index == 0 or number != numbers[index - 1] or token.startswith(NEW_WORD)
        owners.append((owners[-1] if owners else -1) + begins)
    return owners


def _runs(ids: Sequence[int], around: set[int]) -> Iterator[tuple[int, list[int]]]:
    """(position, ids) of the parts between special tokens."""
    for is_text, group in groupby(enumerate(map(int, ids)), lambda item: item[1] not in around):
        if is_text:
            part = list(group)
            yield part[0][0], [token for _, token in part]


def _find(part: list[int], whole: list[int], begin: int) -> int | None:
    """Where a part begins in a text's tokens, from `begin` on, else from its start."""
    size = len(part)
    order = chain(range(begin, len(whole) - size + 1), range(min(begin, len(whole) - size + 1)))
    return next((start for start in order if whole[start : start + size] == part), None)


def _without_spaces(text: str, start: int, end: int) -> tuple[int, int]:
    """A token's characters without the spaces around them, which some tokenizers count as its own."""
    inner = text[start:end].strip()
    first = text.index(inner, start) if inner else start
    return first, first + len(inner)

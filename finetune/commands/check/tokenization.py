"""Checks with the encoder's tokenizer: lengths, truncation, unknown tokens, vocabulary."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finetune.checks.finding import FileFinding
from finetune.checks.split_data import SplitFile
from finetune.data.characters import text_slices
from finetune.data.issues import Issue
from finetune.data.messages import percent
from finetune.errors import UserError
from finetune.models import pretrained
from finetune.models.tokenizers.fast import load_fast_tokenizer
from finetune.models.tokenizers.load import TextTokenizer
from finetune.runs.recipe import Recipe
from finetune.task_types.text_inputs.markers import CUT_AROUND
from finetune.task_types.vocabulary import MANY_UNKNOWN, SOME_UNKNOWN, misfit

SAMPLE_ROWS = 20_000  # rows that are tokenized
NO_TOKENS = Issue(
    code="no-tokens",
    severity="note",
    meaning="the encoder's tokenizer could not be loaded; checks of tokens were skipped",
    remedy="Name an encoder that can be loaded: model=NAME",
)
TOKEN_LENGTHS = Issue(
    code="token-lengths",
    severity="note",
    meaning="tokens per row",
    remedy="max_length is {max_length}; set it with max_length=N",
)
TRUNCATED = Issue(
    code="cut",
    severity="warning",
    meaning="pairs, choices or texts with two spans longer than max_length: they are truncated",
    remedy="Set a larger max_length if the end matters",
)
WINDOWS = Issue(
    code="windows",
    severity="note",
    meaning="texts longer than max_length, which are split into overlapping windows",
    remedy="No action needed; a larger max_length gives longer windows",
)
UNKNOWN_TOKENS = Issue(
    code="unknown-tokens",
    severity="note",
    worst="warning",
    meaning="tokens unknown to the encoder",
    remedy="Check which they are: unknown emoji do no harm, unknown letters do",
)
VOCABULARY = Issue(
    code="vocabulary",
    severity="warning",
    meaning="a vocabulary that does not fit the language of the texts",
    remedy="Choose an encoder of that language: model=NAME",
)
ISSUES = (NO_TOKENS, TOKEN_LENGTHS, TRUNCATED, WINDOWS, UNKNOWN_TOKENS, VOCABULARY)


@dataclass(frozen=True, kw_only=True)
class TokenCounted:
    """Rows of a split (or a sample), with the number of tokens and of unknown tokens of each, all `(rows,)`.

    `sampled` says so in words, empty for all rows.
    """

    rows: NDArray[np.int64]
    lengths: NDArray[np.int64]
    unknown: NDArray[np.int64]
    sampled: str


def tokens(parts: Sequence[SplitFile], recipe: Recipe, max_length: int) -> Iterator[FileFinding]:
    """Findings about the tokens of each split; a note where the tokenizer cannot be loaded."""
    try:
        tokenizer = load_fast_tokenizer(pretrained.resolve(recipe.model, tokenizer=recipe.tokenizer_folder).folder)
    except UserError as error:
        what = f"checks of tokens were skipped: {error.what}"
        yield parts[0].found(NO_TOKENS, what=what, remedy=error.way_out)
        return
    for part in parts:
        tokenized = _tokenized(part, tokenizer)
        if tokenized is not None:
            yield from _lengths(part, tokenized, max_length)
            found = misfit([part.texts[row] for row in tokenized.rows], tokenizer, recipe.model)
            if found is not None:
                rows = tokenized.rows[tokenized.unknown > 0]
                yield part.found(VOCABULARY, rows, what=found.what, remedy=found.remedy)
            if found is None or found.unknown < SOME_UNKNOWN:  # else the share is in the other finding
                yield from _unknown(part, tokenized, recipe.model)


def _lengths(part: SplitFile, tokenized: TokenCounted, max_length: int) -> Iterator[FileFinding]:
    mean, nearly_all, most = tokenized.lengths.mean(), np.percentile(tokenized.lengths, 95), tokenized.lengths.max()
    what = f"tokens per row{tokenized.sampled}: mean {mean:.1f}, 95th percentile {nearly_all:.0f}, maximum {most}"
    yield part.found(TOKEN_LENGTHS, what=what, remedy=TOKEN_LENGTHS.remedy.format(max_length=max_length))
    longer = tokenized.rows[tokenized.lengths > max_length]
    if not len(longer):
        return
    how_many = percent(len(longer) / len(tokenized.rows))
    share = f"{how_many} of the rows{tokenized.sampled} are longer than max_length {max_length}"
    if part.kind.truncates(part.layout):
        how = CUT_AROUND if part.layout.markers else "the longer text is truncated"
        yield part.found(TRUNCATED, longer, what=f"{share}: {how}")
    else:
        yield part.found(WINDOWS, longer, what=f"{share}: they are split into overlapping windows")


def _unknown(part: SplitFile, tokenized: TokenCounted, model: str) -> Iterator[FileFinding]:
    share = tokenized.unknown.sum() / max(1, tokenized.lengths.sum())
    if share < SOME_UNKNOWN:
        return
    what = f"{percent(share)} of the tokens{tokenized.sampled} are unknown to {model}"
    yield part.found(UNKNOWN_TOKENS, tokenized.rows[tokenized.unknown > 0], what=what, worst=share >= MANY_UNKNOWN)


def _tokenized(part: SplitFile, tokenizer: TextTokenizer) -> TokenCounted | None:
    usable = np.flatnonzero(np.fromiter(map(bool, part.texts), bool, len(part.texts)))
    if not len(usable):
        return None
    chosen = np.random.default_rng(0).choice(usable, min(SAMPLE_ROWS, len(usable)), replace=False)
    rows = np.sort(chosen)
    sampled = f" in a sample of {SAMPLE_ROWS:,}" if len(rows) < len(usable) else ""
    lengths, unknown = [], []
    for part_rows in text_slices([len(part.texts[row]) for row in rows]):
        ids, sizes = _ids(part, tokenizer, rows[part_rows].tolist())
        lengths.append(sizes)
        row = np.repeat(np.arange(len(sizes)), sizes)
        missing = -1 if tokenizer.unk_token_id is None else tokenizer.unk_token_id
        unknown.append(np.bincount(row[ids == missing], minlength=len(sizes)))
    return TokenCounted(rows=rows, lengths=np.concatenate(lengths), unknown=np.concatenate(unknown), sampled=sampled)


def _ids(part: SplitFile, tokenizer: TextTokenizer, rows: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Token ids of some rows, concatenated, and the number of tokens of each row."""
    firsts, seconds = part.kind.sequences(part.layout, part.table, part.texts, rows)
    encoded = tokenizer(firsts, seconds, truncation=False, return_attention_mask=False, verbose=False)["input_ids"]
    sizes = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return np.concatenate([np.asarray(some, np.int64) for some in encoded]), sizes

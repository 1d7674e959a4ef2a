"""Checks of texts as the chosen encoder's tokenizer cuts them: lengths, unknown tokens, a vocabulary that fits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finetune.checks.finding import Finding
from finetune.checks.split_data import Part
from finetune.data.characters import runs_of
from finetune.data.issues import Issue
from finetune.data.values import as_text
from finetune.errors import UserError
from finetune.models import pretrained
from finetune.models.tokenizers.load import TextTokenizer, load_text_tokenizer
from finetune.task_types.vocabulary import MANY_UNKNOWN, misfit

SAMPLE = 20_000  # rows that are cut into tokens
SOME_UNKNOWN = 0.001  # share of the tokens
NO_TOKENS = Issue(
    code="no-tokens",
    severity="note",
    meaning="the encoder's tokenizer could not be loaded, so that these checks were left out",
    remedy="Name an encoder that can be loaded: model=NAME",
)
TOKEN_LENGTHS = Issue(
    code="token-lengths",
    severity="note",
    meaning="how many tokens the rows have",
    remedy="max_length is {max_length}; set it with max_length=N",
)
TRUNCATED = Issue(
    code="cut",
    severity="warning",
    meaning="pairs or choices longer than max_length: the longer text loses its end",
    remedy="Set a larger max_length if the end matters",
)
WINDOWS = Issue(
    code="windows",
    severity="note",
    meaning="texts longer than max_length, which are read in overlapping windows",
    remedy="Nothing need be done; a larger max_length reads more at once",
)
QUESTION_CUT = Issue(
    code="question-cut",
    severity="warning",
    meaning="questions longer than max_question_tokens: they lose their end",
    remedy="Set max_question_tokens=N if the end matters",
)
UNKNOWN_TOKENS = Issue(
    code="unknown-tokens",
    severity="note",
    worst="warning",
    meaning="tokens that the encoder does not know",
    remedy="See which they are: emoji do no harm, letters that it does not know do",
)
VOCABULARY = Issue(
    code="vocabulary",
    severity="warning",
    meaning="a vocabulary that does not fit the language of the texts",
    remedy="Take an encoder that knows the language: model=NAME",
)
ISSUES = (NO_TOKENS, TOKEN_LENGTHS, TRUNCATED, WINDOWS, QUESTION_CUT, UNKNOWN_TOKENS, VOCABULARY)


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Rows of a part (a sample of them, where there are many), and for each how many tokens and unknown ones."""

    rows: NDArray[np.int64]
    lengths: NDArray[np.int64]
    unknown: NDArray[np.int64]
    said: str


def tokens(parts: Sequence[Part], model: str, max_length: int, most_asked: int) -> Iterator[Finding]:
    """What there is to say of the tokens of each file; a note where the tokenizer cannot be had.

    `most_asked` is how many tokens of a question are read.
    """
    try:
        tokenizer = load_text_tokenizer(pretrained.resolve(model).folder)
    except UserError as error:
        what = f"checks of tokens were left out: {error.what}"
        yield parts[0].found(NO_TOKENS, what=what, remedy=error.way_out)
        return
    for part in parts:
        cut = _cut(part, tokenizer)
        if cut is not None:
            yield from _lengths(part, cut, max_length)
            yield from _questions(part, cut, tokenizer, most_asked)
            yield from _unknown(part, cut, model)
            yield from _vocabulary(part, cut, tokenizer, model)


def _lengths(part: Part, cut: Tokens, max_length: int) -> Iterator[Finding]:
    mean, nearly_all, most = cut.lengths.mean(), np.percentile(cut.lengths, 95), cut.lengths.max()
    what = f"tokens a row{cut.said}: {mean:.1f} in the mean, 95 % have at most {nearly_all:.0f}, the longest {most}"
    yield part.found(TOKEN_LENGTHS, what=what, remedy=TOKEN_LENGTHS.remedy.format(max_length=max_length))
    longer = cut.rows[cut.lengths > max_length]
    if not len(longer):
        return
    share = f"{_percent(len(longer) / len(cut.rows))} of the rows{cut.said} are longer than max_length {max_length}"
    if part.kind.truncates(part.layout):
        yield part.found(TRUNCATED, longer, what=f"{share}: the longer text loses its end")
    else:
        yield part.found(WINDOWS, longer, what=f"{share}: they are read in overlapping windows")


def _questions(part: Part, cut: Tokens, tokenizer: TextTokenizer, most: int) -> Iterator[Finding]:
    """Questions about contexts are cut, whatever max_length is."""
    if not part.kind.capped:
        return
    texts = [as_text(part.table.columns[part.layout.text[0]][row]) for row in cut.rows]
    encoded = tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)["input_ids"]
    longer = cut.rows[np.fromiter(map(len, encoded), np.int64, len(encoded)) > most]
    if len(longer):
        share = f"{_percent(len(longer) / len(cut.rows))} of the questions{cut.said}"
        what = f"{share} are longer than max_question_tokens {most}: they lose their end"
        yield part.found(QUESTION_CUT, longer, what=what)


def _unknown(part: Part, cut: Tokens, model: str) -> Iterator[Finding]:
    share = cut.unknown.sum() / max(1, cut.lengths.sum())
    if share < SOME_UNKNOWN:
        return
    what = f"{_percent(share)} of the tokens{cut.said} are unknown to {model}"
    yield part.found(UNKNOWN_TOKENS, cut.rows[cut.unknown > 0], what=what, worst=share >= MANY_UNKNOWN)


def _vocabulary(part: Part, cut: Tokens, tokenizer: TextTokenizer, model: str) -> Iterator[Finding]:
    if found := misfit([part.texts[row] for row in cut.rows], tokenizer, model):
        what, remedy = found
        yield part.found(VOCABULARY, what=what, remedy=remedy)


def _cut(part: Part, tokenizer: TextTokenizer) -> Tokens | None:
    usable = np.flatnonzero(np.fromiter(map(bool, part.texts), bool, len(part.texts)))
    if not len(usable):
        return None
    drawn = np.random.default_rng(0).choice(usable, min(SAMPLE, len(usable)), replace=False)
    rows = np.sort(drawn)
    said = f" in a sample of {SAMPLE:,}" if len(rows) < len(usable) else ""
    lengths, unknown = [], []
    for part_rows in runs_of([len(part.texts[row]) for row in rows]):
        ids, sizes = _ids(part, tokenizer, rows[part_rows].tolist())
        lengths.append(sizes)
        row = np.repeat(np.arange(len(sizes)), sizes)
        missing = -1 if tokenizer.unk_token_id is None else tokenizer.unk_token_id
        unknown.append(np.bincount(row[ids == missing], minlength=len(sizes)))
    return Tokens(rows=rows, lengths=np.concatenate(lengths), unknown=np.concatenate(unknown), said=said)


def _ids(part: Part, tokenizer: TextTokenizer, rows: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tokens of some rows, one behind the other, and how many each row has."""
    firsts, seconds = part.kind.sequences(part.layout, part.table, part.texts, rows)
    encoded = tokenizer(firsts, seconds, truncation=False, return_attention_mask=False, verbose=False)["input_ids"]
    sizes = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return np.concatenate([np.asarray(some, np.int64) for some in encoded]), sizes


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"

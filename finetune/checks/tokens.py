"""Checks with the encoder's tokenizer: lengths, truncation, unknown tokens, vocabulary; and refusals of a run."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from finetune.checks.split_data import SplitFile
from finetune.data.characters import text_slices
from finetune.data.issues import Finding, Issue
from finetune.data.messages import percent
from finetune.runs.settings import is_new
from finetune.task_types.classification.marked import CUT_AROUND, without_markers
from finetune.task_types.vocabulary import MANY_UNKNOWN, MULTILINGUAL, SOME_UNKNOWN, foreign_rows, misfit

SAMPLE_ROWS = 20_000  # rows that are tokenized
REFUSED = Issue("refused", "error", "what `run` stops at, such as too few rows to hold some out as dev", "Correct it")
NO_TOKENS = Issue(
    "no-tokens",
    "note",
    "the encoder's tokenizer could not be loaded; checks of tokens were skipped",
    "Name an encoder that can be loaded: model=NAME",
)
TOKEN_LENGTHS = Issue("token-lengths", "note", "tokens per row", "max_length is {max_length}; set it with max_length=N")
TRUNCATED = Issue(
    "cut",
    "warning",
    "pairs, choices or texts with two spans longer than max_length: they are truncated",
    "Set a larger max_length if the end matters",
)
WINDOWS = Issue(
    "windows",
    "note",
    "texts longer than max_length, which are split into overlapping windows",
    "No action needed; a larger max_length gives longer windows",
)
UNKNOWN_TOKENS = Issue(
    "unknown-tokens",
    "note",
    "tokens unknown to the encoder",
    "Check which they are: unknown emoji do no harm, unknown letters do",
    worst="warning",
)
VOCABULARY = Issue(
    "vocabulary",
    "warning",
    "a vocabulary that does not fit the language of the texts",
    "Choose an encoder of that language: model=NAME",
)
FOREIGN = f"Names and codes do no harm; for another language name a multilingual encoder: model={MULTILINGUAL[0]}"


def token_findings(part: SplitFile, tokenizer: Any, model: str, max_length: int) -> Iterator[Finding]:
    """Findings about the tokens of a split, or of a sample of its rows."""
    usable = np.array([row for row, text in enumerate(part.texts) if text], np.int64)
    if not len(usable):
        return
    rows = np.sort(np.random.default_rng(0).choice(usable, min(SAMPLE_ROWS, len(usable)), replace=False))
    sampled = f" in a sample of {SAMPLE_ROWS:,}" if len(rows) < len(usable) else ""
    texts, markers = [part.texts[row] for row in rows], part.layout.markers
    counts = [
        count for chunk in text_slices([*map(len, texts)]) for count in _counted(texts[chunk], markers, tokenizer)
    ]
    lengths, unknown = np.array(counts).T
    mean, nearly_all, most = lengths.mean(), np.percentile(lengths, 95), lengths.max()
    what = f"tokens per row{sampled}: mean {mean:.1f}, 95th percentile {nearly_all:.0f}, maximum {most}"
    yield Finding(TOKEN_LENGTHS, what, remedy=TOKEN_LENGTHS.remedy.format(max_length=max_length))
    longer = rows[lengths > max_length]
    if len(longer):
        issue, how = WINDOWS, "they are split into overlapping windows"
        if part.kind.labels_rows and (len(part.layout.text) > 1 or markers):
            issue, how = TRUNCATED, CUT_AROUND if markers else "the longer text is truncated"
        share = f"{percent(len(longer) / len(rows))} of the rows{sampled}"
        yield Finding(issue, f"{share} are longer than max_length {max_length}: {how}", longer)
    with_unknown, share_unknown = rows[unknown > 0], unknown.sum() / max(1, lengths.sum())
    if fault := misfit(texts, tokenizer, model):
        yield Finding(VOCABULARY, fault.what, with_unknown, fault.remedy)
    elif not is_new(model) and (foreign := foreign_rows(texts, tokenizer)):
        share = f"{percent(len(foreign) / len(rows))} of the rows{sampled}"
        what = f"{share} take more tokens than texts in a language of {model}"
        yield Finding(VOCABULARY, what, rows[foreign].tolist(), FOREIGN)
    if share_unknown >= SOME_UNKNOWN and not (fault and fault.unknown >= SOME_UNKNOWN):  # which has the share too
        what = f"{percent(share_unknown)} of the tokens{sampled} are unknown to {model}"
        yield Finding(UNKNOWN_TOKENS, what, with_unknown, worst=share_unknown >= MANY_UNKNOWN)


def _counted(texts: list[str], markers: tuple[str, ...], tokenizer: Any) -> list[tuple[int, int]]:
    """(tokens, unknown tokens) of each text."""
    if markers:  # each is a token
        texts = [without_markers(text, markers, ",") for text in texts]
    encoded = tokenizer(texts, truncation=False, return_attention_mask=False, verbose=False)["input_ids"]
    unknown = tokenizer.unk_token_id
    return [(len(ids), 0 if unknown is None else ids.count(unknown)) for ids in encoded]

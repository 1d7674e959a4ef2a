"""Facts and findings of a corpus: what it holds, repeated lines, scripts, and how a tokenizer fits it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from finetune.checks.all_checks import worst_first
from finetune.checks.finding import FileFinding
from finetune.checks.text import COUNTED, IN_ANY, IN_FOREIGN, SHARE_OF_CHARS
from finetune.commands.check.corpus_counts import LONG_LINE_CHARS, Counts, counts_of, line_hash
from finetune.commands.check.tokenization import UNKNOWN_TOKENS, VOCABULARY
from finetune.data.characters import SCRIPTS, kind_number
from finetune.data.documents import Documents
from finetune.data.issues import Issue
from finetune.data.messages import percent, shown, size_words, so_many
from finetune.models.tokenizers.load import TextTokenizer
from finetune.runs.recipe import is_new
from finetune.task_types.pretraining.reader import LITTLE
from finetune.task_types.vocabulary import MANY_UNKNOWN, SOME_UNKNOWN, misfit

MANY_REPEATED = 0.4  # share of the lines
LINES_SHOWN = 3  # repeated lines that are shown
LEAST_SHARE_OF_CHARS = 0.001  # share of the letters below which a script is not listed
FIXING = re.compile(r"(, as|;) `fix` [^;]*")  # in a remedy: `fix` is for tables

SAMPLED_ISSUES = ("html", "mojibake", "not-nfc", "jamo")  # issues of texts that are looked for in a sample of lines
REPEATED_LINES = Issue(
    code="repeated-lines",
    severity="warning",
    meaning="40 % or more of the lines of a corpus repeat earlier ones",
    remedy="Remove headings, menus and copies: they are memorised, and make held-out text look easy",
)
LONG_LINES = Issue(
    code="long-lines",
    severity="note",
    meaning="lines of a corpus of more than 10,000 characters",
    remedy="Put each sentence or paragraph on a line",
)
ONE_DOCUMENT = Issue(
    code="one-document",
    severity="error",
    meaning="a corpus of one document, or of copies of one: nothing is left to score on",
    remedy="Put a blank line between documents, or give more text",
)
LITTLE_TEXT = Issue(
    code="little-text",
    severity="warning",
    meaning="a corpus of under 10,000 bytes: too little for an encoder to learn from",
    remedy="Give more text, thousands of lines",
)
SINGLE_LINES = Issue(
    code="single-lines",
    severity="warning",
    worst="error",
    meaning="documents of one line, from which next-sentence prediction takes no pair of sentences",
    remedy="Put a sentence on a line and a blank line between documents, or leave out next-sentence prediction",
)
ISSUES = (REPEATED_LINES, LONG_LINES, ONE_DOCUMENT, LITTLE_TEXT, SINGLE_LINES)


@dataclass(frozen=True, kw_only=True)
class CorpusFacts:
    """What a corpus holds: numbers of documents, lines, words and bytes of UTF-8, and its findings.

    Shares from 0 to 1: `repeated`, of lines that equal an earlier one; `single`, of documents of one line; `scripts`,
    of letters by script; `unknown`, of tokens. `longest` is the longest line in characters. `tokens` is estimated by a
    sample; None without a tokenizer, as `unknown` is.
    """

    documents: int
    lines: int
    words: int
    size: int
    repeated: float
    single: float
    longest: int
    scripts: dict[str, float]
    tokens: int | None = None
    unknown: float | None = None
    findings: tuple[FileFinding, ...] = ()

    def shown(self) -> dict[str, str]:
        """The facts in words, by name."""
        listed = [f"{name} {percent(share)}" for name, share in self.scripts.items() if share >= LEAST_SHARE_OF_CHARS]
        few = len(self.scripts) - len(listed)
        facts = {
            "documents": f"{self.documents:,}",
            "lines": f"{self.lines:,}, of which {percent(self.repeated)} repeat earlier ones",
            "words": f"{self.words:,}",
            "size": size_words(self.size),
            "scripts": ", ".join(
                [*listed, *([f"{so_many(few, 'other')} under {percent(LEAST_SHARE_OF_CHARS)}"] if few else [])]
            ),
        }
        if self.tokens is not None and self.unknown is not None:
            a_word = f", {self.tokens / self.words:.2f} a word" if self.words else ""
            facts["tokens"] = f"about {self.tokens:,}{a_word}, {percent(self.unknown)} unknown"
        return {name: value for name, value in facts.items() if value}


def corpus_facts(
    documents: Documents, tokenizer: TextTokenizer | None = None, *, model: str = "the encoder", pairs: bool = False
) -> CorpusFacts:
    """Reads a corpus, in bounded memory, for its facts and findings.

    With a tokenizer (of `model`, for messages) a sample of different lines is tokenized. With `pairs`, a finding says
    where documents have no pair of lines to learn from. Raises UserError as `read_documents` does.
    """
    counts = counts_of(documents)
    letters = counts.letters.sum()
    order = [number for number in np.argsort(-counts.letters) if counts.letters[number]]
    facts = CorpusFacts(
        documents=counts.documents,
        lines=counts.lines,
        words=counts.words,
        size=counts.size,
        repeated=counts.repeats.share,
        single=counts.single / counts.documents,
        longest=counts.longest,
        scripts={SCRIPTS[number]: float(counts.letters[number] / letters) for number in order},
    )
    found = [
        *_of_lines(documents, facts, counts),
        *_of_characters(counts),
        *_of_documents(documents, facts, pairs=pairs),
    ]
    if tokenizer is not None:
        tokens, unknown = _tokens(counts.sample.texts, tokenizer)
        sampled = sum(len(text.encode()) for text in counts.sample.texts)
        facts = replace(facts, tokens=round(tokens / sampled * facts.size), unknown=unknown)
        found += _of_tokens(counts.sample.texts, tokenizer, model, unknown)
    file = str(documents.paths[0]) + (f" and {len(documents.paths) - 1} more" if len(documents.paths) > 1 else "")
    return replace(facts, findings=tuple(replace(one, file=file) for one in worst_first(found)))


def _finding(issue: Issue, what: str = "", *, remedy: str = "", worst: bool = False) -> FileFinding:
    return FileFinding.of(issue, what, file="", remedy=FIXING.sub("", remedy or issue.remedy), worst=worst)


def _of_lines(documents: Documents, facts: CorpusFacts, counts: Counts) -> Iterator[FileFinding]:
    if facts.repeated >= MANY_REPEATED:
        first = ", ".join(f"{shown(line)} ({count:,} times)" for line, count in _first_repeated(documents, counts))
        yield _finding(REPEATED_LINES, f"{percent(facts.repeated)} of the lines repeat earlier ones, such as {first}")
    if counts.long:
        long = f"{so_many(counts.long, 'line')} of more than {LONG_LINE_CHARS:,} characters"
        what = f"{long}, the longest of {facts.longest:,}"
        yield _finding(LONG_LINES, what)


def _first_repeated(documents: Documents, counts: Counts) -> list[tuple[str, int]]:
    """The first lines that are repeated, and how often each is in the corpus."""
    times = counts.repeats.times()
    lines = (line for document in documents for line in document.lines)
    own = ((line, times.get(line_hash(line), 0)) for line in lines)
    different: dict[str, int] = {}
    for line, count in own:
        if count:
            different.setdefault(line, count)
        if len(different) == LINES_SHOWN:
            break
    return list(different.items())


def _of_characters(counts: Counts) -> Iterator[FileFinding]:
    for kind, issue in COUNTED.items():
        if count := int(counts.kinds[kind_number(kind)]):
            yield _finding(issue, f"{issue.meaning}: {count:,}")
    texts = counts.sample.texts
    for issue, holds in {**IN_ANY, **IN_FOREIGN}.items():
        if issue.code in SAMPLED_ISSUES:
            bad = [text for text in texts if holds(text)]
            if len(bad) >= SHARE_OF_CHARS * len(texts):
                what = (
                    f"{issue.meaning}: {percent(len(bad) / len(texts))} of a sample of lines, such as {shown(bad[0])}"
                )
                yield _finding(issue, what)


def _of_documents(documents: Documents, facts: CorpusFacts, *, pairs: bool) -> Iterator[FileFinding]:
    if (documents.hashes == documents.hashes[0]).all():
        yield _finding(ONE_DOCUMENT)
    elif facts.size < LITTLE:
        found = f"{so_many(facts.documents, 'document')} with {so_many(facts.size, 'byte')} of text"
        yield _finding(LITTLE_TEXT, f"{found} are too little for an encoder to learn from")
    if pairs and facts.single > 0.5:
        what = f"{percent(facts.single)} of the documents have one line, and so no pair of sentences"
        yield _finding(SINGLE_LINES, what, worst=facts.single == 1)


def _tokens(texts: list[str], tokenizer: TextTokenizer) -> tuple[int, float]:
    """The number of tokens of texts, and the share of unknown ones."""
    missing = -1 if tokenizer.unk_token_id is None else tokenizer.unk_token_id
    total = unknown = 0
    coming = iter(texts)
    while some := list(islice(coming, 500)):
        options = {"add_special_tokens": False, "truncation": False, "return_attention_mask": False, "verbose": False}
        for ids in tokenizer(some, **options)["input_ids"]:
            total += len(ids)
            unknown += list(ids).count(missing)
    return total, unknown / max(1, total)


def _of_tokens(texts: list[str], tokenizer: TextTokenizer, model: str, unknown: float) -> Iterator[FileFinding]:
    train = "train a vocabulary of this text: finetune tokenizer"
    found = misfit(texts, tokenizer, model)
    if found is not None:
        yield _finding(VOCABULARY, found.what, remedy=found.remedy if is_new(model) else f"{found.remedy}; or {train}")
    if unknown >= SOME_UNKNOWN and (found is None or found.unknown < SOME_UNKNOWN):
        what = f"{percent(unknown)} of the tokens of a sample of lines are unknown to {model}"
        yield _finding(
            UNKNOWN_TOKENS, what, remedy=f"{UNKNOWN_TOKENS.remedy}; or {train}", worst=unknown >= MANY_UNKNOWN
        )

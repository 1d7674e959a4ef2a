"""Trains a tokenizer. Equal texts and settings give equal bytes, in other processes and with other thread counts.

The library's WordPiece training does not: it gives ids to continuing pieces in the order of a hash table. So WordPiece
is trained here as BPE over words whose continuing characters are marked, and all characters have their ids before.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import regex

from finetune.data.messages import percent, so_many
from finetune.errors import UserError
from finetune.models.encoder_sizes import POSITIONS
from finetune.models.tokenizers.alphabet import COVERED, Alphabet, TextSource, alphabet_of
from finetune.models.tokenizers.kinds import KINDS, LONGEST_WORD, TokenizerKind
from finetune.runs.events import Note, Watcher, Working, unwatched

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.trainers import BpeTrainer
    from transformers import PreTrainedTokenizerFast


LEAST_COUNT = 2  # of a pair that is merged
LEAST_COVERED = 0.99  # share of the text that its characters make up
TEXTS_BETWEEN_EVENTS = 20_000  # texts between two events
ACCENTS = "accents are kept: in this script marks are parts of letters, which lower-casing would strip with accents"
HANGUL = "Hangul is kept whole: lower-casing strips accents, and syllables are composed again after it"
SHARE_OF_CHARS = 0.01  # share of a text's characters
KANA = "".join(char for char in map(chr, range(0x3040, 0x3100)) if unicodedata.normalize("NFD", char) != char)
OTHERS = r"\p{Latin}\p{Greek}\p{Cyrillic}\p{Arabic}\p{Hebrew}"  # read without accents or points
MARKS = regex.compile(rf"(?<=[\p{{L}}--[{OTHERS}]])\p{{Mn}}|[{KANA}]", regex.V1)


def train_tokenizer(
    texts: TextSource,
    *,
    size: int,
    least: int | None = None,
    kind: str = "wordpiece",
    lower: bool | None = None,
    watch: Watcher = unwatched,
) -> "PreTrainedTokenizerFast":
    """A tokenizer with a vocabulary of `size` tokens, from texts that are read twice and never kept.

    Where the texts have words for fewer tokens, these are taken if they are at least `least` (default: `size`).
    `kind` is one of KINDS, which says whether it is lower-cased by default.
    Raises UserError for texts without a word, and for a size that is too small for their characters or too large for
    their words.
    """
    from transformers import PreTrainedTokenizerFast

    rules, marks = KINDS[kind], MarkCount()
    lower = rules.lower if lower is None else lower
    trained = rules.untrained(lower=lower)
    alphabet = _alphabet(rules, _watched(marks.of(texts()), "counting characters", watch), trained, size=size)
    if accents := lower and marks.are_many:
        watch(Note(ACCENTS))
        trained = rules.untrained(lower=lower, accents=True)
        alphabet = _alphabet(rules, _watched(texts(), "counting characters", watch), trained, size=size)
    if alphabet.covered < COVERED:
        rare = f"{percent(1 - alphabet.covered)} of the text's characters are too rare for {so_many(size, 'token')}"
        watch(Note(f"{rare}: they become unknown tokens"))
    if lower and not accents and alphabet.has_hangul:
        watch(Note(HANGUL))
    trainer = _trainer(rules, size, alphabet)
    trained.train_from_iterator(_lines(_watched(texts(), "counting words", watch, then="merging pairs")), trainer)
    learned = trained.get_vocab_size()
    if learned < (size if least is None else least):
        raise UserError(
            f"the text has words for {so_many(learned, 'token')}, and `size` is {size:,}",
            f"Give more text, or `size` {learned}",
        )
    whole = rules.untrained(lower=lower, accents=accents)
    whole.model = _model(rules, trained)
    _add_special_tokens(whole, rules)
    special = rules.special
    return PreTrainedTokenizerFast(
        tokenizer_object=whole, model_max_length=POSITIONS, model_input_names=list(special.inputs), **special.names
    )


def _alphabet(kind: TokenizerKind, texts: Iterable[str], backend: "Tokenizer", *, size: int) -> Alphabet:
    """The characters of the texts, or those for bytes. Raises UserError for texts without a word, or with too many rare
    characters.
    """
    from tokenizers.pre_tokenizers import ByteLevel

    if kind.of_bytes:
        if not any(text.strip() for text in texts):
            raise UserError("the corpus has no text", "Name files with text")
        return Alphabet(characters=tuple(sorted(ByteLevel.alphabet())), later=())
    special = len(kind.special.tokens)
    found = alphabet_of(texts, backend, room=size - special, marked=bool(kind.mark))
    if not found.tokens:
        raise UserError("the corpus has no text", "Name files with text")
    if found.covered < LEAST_COVERED:
        need = found.tokens + special
        raise UserError(
            f"`size` is {size:,}: the text's characters and the special tokens alone need {need:,}",
            f"Give `size` {need} or more",
        )
    return found


def _trainer(kind: TokenizerKind, size: int, alphabet: Alphabet) -> "BpeTrainer":
    """The trainer, which is given every character first. Raises UserError for a size that they do not fit."""
    from tokenizers import trainers

    marked = [f"{kind.mark}{char}" for char in alphabet.later] if kind.mark else []
    first = [*kind.special.tokens, *marked]
    need = len(first) + len(alphabet.characters)
    if size < need:
        raise UserError(
            f"`size` is {size:,}: the bytes and the special tokens alone need {need:,}", f"Give `size` {need} or more"
        )
    prefix: dict[str, Any] = {"continuing_subword_prefix": kind.mark} if kind.mark else {}
    return trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=LEAST_COUNT,
        special_tokens=first,
        initial_alphabet=list(alphabet.characters),
        limit_alphabet=len(alphabet.characters),
        show_progress=False,
        **prefix,
    )


def _model(kind: TokenizerKind, trained: "Tokenizer") -> Any:
    """The trained model. One with a mark is a WordPiece: it has the vocabulary of BPE, and finds the longest pieces
    without its merges.
    """
    from tokenizers import models

    unknown = kind.special.names["unk_token"]
    if kind.mark:
        ids = trained.get_vocab()
        return models.WordPiece(
            ids, unk_token=unknown, continuing_subword_prefix=kind.mark, max_input_chars_per_word=LONGEST_WORD
        )
    if not kind.of_bytes:
        trained.model.unk_token, trained.model.fuse_unk = unknown, True
    return trained.model


def _add_special_tokens(backend: "Tokenizer", kind: TokenizerKind) -> None:
    """A mask takes the space before it where a space belongs to the token after it."""
    from tokenizers import AddedToken

    spaced = "" if kind.mark else kind.special.names["mask_token"]
    backend.add_special_tokens([AddedToken(token, lstrip=token == spaced) for token in kind.special.tokens])


def _lines(texts: Iterable[str]) -> Iterator[str]:
    """The lines of texts, which are encoded by themselves: the first word of each has a space before it."""
    return (line for text in texts for line in text.split("\n"))


def _watched(texts: Iterable[str], what: str, watch: Watcher, *, then: str = "") -> Iterator[str]:
    """The texts, with an event at the start, now and then, and at the end."""
    watch(Working(what))
    for number, text in enumerate(texts):
        if number and number % TEXTS_BETWEEN_EVENTS == 0:
            watch(Working(f"{what} of {so_many(number, 'document')}"))
        yield text
    if then:
        watch(Working(then))


class MarkCount:
    """How much of the texts that went through it are such marks."""

    def __init__(self) -> None:
        self.marks = self.characters = 0

    def of(self, texts: Iterable[str]) -> Iterator[str]:
        """The texts, counted on the way."""
        for text in texts:
            self.marks += 0 if text.isascii() else len(MARKS.findall(text))
            self.characters += len(text)
            yield text

    @property
    def are_many(self) -> bool:
        """Whether the texts are read wrongly without them."""
        return self.marks >= SHARE_OF_CHARS * max(1, self.characters)

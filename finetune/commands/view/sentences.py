"""Sentences with a word of several meanings: our own, or the user's.

A line is a sentence, or a meaning and a sentence with a tab between them.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from finetune.commands.view.parts import MarkedSentence
from finetune.data.paths import read_small_text
from finetune.data.words.lists import word_list
from finetune.errors import UserError, nearest

MOST_BYTES = 1_000_000
MOST_SENTENCES = 200  # sentences on a page
FEWEST_SENTENCES = 3
DEFAULT = "bank"
HANGUL = re.compile("[가-힣]")
BUILT_IN = files("finetune.commands.view") / "words"


def built_in_words() -> list[str]:
    """The words that have sentences here."""
    return sorted(Path(file.name).stem for file in BUILT_IN.iterdir() if file.name.endswith(".tsv"))


def sentences_of(word: str, given: str | Path | Sequence[str] | None) -> list[MarkedSentence]:
    """The sentences with a word: of a file or of lines that are given, else ours.

    Raises UserError for a file that cannot be read, too few sentences that have the word, and a word that we have not.
    """
    known = built_in_words()
    if given is None and word not in known:
        raise UserError(
            f"there are no sentences for the word '{word}'",
            f"{nearest(word, known)}Give a file of some with `sentences`, or choose {', '.join(known)}",
        )
    found = [one for line in _lines(word, given) if (one := _sentence(line, word)) is not None]
    if len(found) < FEWEST_SENTENCES:
        source = given if isinstance(given, str | Path) else "sentences"
        raise UserError(
            f"{source}: {len(found)} of its lines have the word '{word}'",
            f"Give at least {FEWEST_SENTENCES} sentences with it",
        )
    return found[:MOST_SENTENCES]


def _lines(word: str, given: str | Path | Sequence[str] | None) -> Sequence[str]:
    if given is None:
        return (BUILT_IN / f"{word}.tsv").read_text(encoding="utf-8").splitlines()
    if isinstance(given, str | Path):
        return read_small_text(Path(given), most=MOST_BYTES, encoding="utf-8-sig").splitlines()
    return given


def typed_sentences(word: str, texts: Sequence[str]) -> list[MarkedSentence]:
    """Those of the user's texts that have the word."""
    found = (_sentence(text.replace("\t", " "), word) for text in texts)
    return [replace(one, yours=True) for one in found if one is not None]


def word_of(texts: Sequence[str]) -> str:
    """The word of ours that the texts have, with a particle or without; else one of ours in their script."""
    text, known = " ".join(texts), built_in_words()
    particles = "|".join(word_list("particles"))
    there = [
        word for word in known if re.search(rf"(?<!\w){re.escape(word)}(?:{particles})?(?!\w)", text, re.IGNORECASE)
    ]
    korean = [word for word in known if HANGUL.search(word)] if HANGUL.search(text) else []
    return next(iter([*there, *korean, DEFAULT]))


def _sentence(line: str, word: str) -> MarkedSentence | None:
    """A line's sentence; None where it lacks the word, which begins a word there but may have an ending or particle."""
    meaning, tab, text = line.partition("\t")
    meaning, text = (meaning.strip(), text.strip()) if tab else ("", line.strip())
    begins = rf"(?<!\w){re.escape(word)}"
    match = re.search(rf"{begins}(?!\w)", text, re.IGNORECASE) or re.search(begins, text, re.IGNORECASE)
    return match and MarkedSentence(text=text, start=match.start(), end=match.end(), meaning=meaning)

"""Checks if an encoder's vocabulary fits the language of texts, and suggests encoders that do."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from finetune.data.characters import CONJOINING, SCRIPTS, census, kind_number
from finetune.data.messages import percent
from finetune.data.rows import OwnRow, Row
from finetune.runs.settings import is_new

SAMPLE_TEXTS = 2_000
LEAST_LETTERS = 200
MANY_UNKNOWN, SOME_UNKNOWN = 0.05, 0.001  # share of the tokens
MOST_TOKENS = {"Latin": 0.34, "Hangul": 1.5, "Han": 1.3, "Kana": 1.3}  # tokens per letter
MOST_OF_OTHERS = 0.7
PER_WORD = 1.3  # tokens a word, which short words of a fitting vocabulary do not exceed
WORD = re.compile(r"[^\W\d_]+")
LEAST_WORDS = 6  # of a text whose tokens are counted by themselves
LEAST_FOREIGN, FOREIGN_SHARE = 5, 0.03  # texts, and their share; of English ones at most 0.005 take as many tokens
MULTILINGUAL = ("google-bert/bert-base-multilingual-cased", "FacebookAI/xlm-roberta-base")
ENCODERS = {  # of scripts that are of one language
    "Hangul": (
        *("klue/bert-base", "klue/roberta-base", "klue/roberta-large"),
        *("monologg/koelectra-base-v3-discriminator", "beomi/kcbert-base"),
    ),
    "Han": ("google-bert/bert-base-chinese",),
}
TRAIN = "Train one on these texts: finetune tokenizer TEXTS -o vocabulary"
CHOOSE = "Choose an encoder for the language: model="
MISFIT = "does not fit these texts"  # in the words of a misfit
SOME_KANA = 0.05  # share of the letters, from which Han characters are Japanese


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """A fault of an encoder's vocabulary for given texts, and how to fix it; `unknown`, the share of unknown tokens (0
    to 1), is in the words where it is SOME_UNKNOWN or more.
    """

    what: str
    remedy: str
    unknown: float


def misfit(texts: Sequence[str], tokenizer: Any, model: str) -> Misfit | None:
    """The fault of an encoder's vocabulary for these texts; None where it fits."""
    words = [WORD.findall(text) for text in texts[:: max(1, len(texts) // SAMPLE_TEXTS)]]
    all_words = [word for row_words in words for word in row_words]
    letters = sum(map(len, all_words))
    if letters < LEAST_LETTERS:
        return None
    encoded = tokenizer(
        [" ".join(row_words) for row_words in words if row_words],
        add_special_tokens=False,
        return_attention_mask=False,
        truncation=False,
        verbose=False,
    )["input_ids"]
    counts = np.bincount(np.concatenate([np.asarray(row_words, np.int64) for row_words in encoded]))
    shares = _script_shares(all_words)
    has_none = not (tokenizer.unk_token_id is not None and tokenizer.unk_token_id < len(counts))
    unknown = 0.0 if has_none else float(counts[tokenizer.unk_token_id] / counts.sum())
    jamo = sum(counts[number] for number in np.flatnonzero(counts) if _is_jamo(tokenizer, int(number)))
    by_letter, expected = _is_by_letter(shares), _most_tokens(all_words, shares)
    small = is_new(model)  # its vocabulary is the user's own, which may have few words
    if unknown < MANY_UNKNOWN and jamo < MANY_UNKNOWN * counts.sum() and (small or counts.sum() <= expected):
        return None
    size = counts.sum() / (letters if by_letter else len(all_words))
    unit = "syllable" if shares["Hangul"] > 0.5 else "letter" if by_letter else "word"
    apart = ", which takes syllables apart into jamo," if jamo else ""
    what = f"the vocabulary of {model}{apart} {MISFIT}: {size:.1f} tokens per {unit}"
    what += f", {percent(unknown)} of the tokens unknown" * (unknown >= SOME_UNKNOWN)
    return Misfit(what=what, remedy=TRAIN if small else _remedy(shares), unknown=unknown)


def foreign_rows(texts: Sequence[str], tokenizer: Any) -> list[int]:
    """The numbers of texts that take more tokens than a fitting vocabulary needs, where the others take fewer: rows in
    another language, or full of rare names. Empty where there are as few as in any texts.
    """
    words = [WORD.findall(text) for text in texts]
    long = [row for row, row_words in enumerate(words) if len(row_words) >= LEAST_WORDS]
    if not long:
        return []
    joined = [" ".join(words[row]) for row in long]
    encoded = tokenizer(joined, add_special_tokens=False, return_attention_mask=False, verbose=False)["input_ids"]
    rows = [
        row
        for row, ids in zip(long, encoded, strict=True)
        if len(ids) > _most_tokens(words[row], _script_shares(words[row]))
    ]
    return rows if len(rows) >= max(LEAST_FOREIGN, FOREIGN_SHARE * len(long)) else []


def _most_tokens(words: Sequence[str], shares: dict[str, float]) -> float:
    """The most tokens that a fitting vocabulary needs for words with these shares of scripts."""
    letters = sum(map(len, words))
    most = sum(share * MOST_TOKENS.get(script, MOST_OF_OTHERS) for script, share in shares.items())
    return max(most * letters, 0 if _is_by_letter(shares) else PER_WORD * len(words))


def _is_by_letter(shares: dict[str, float]) -> bool:
    """Whether words are counted by their letters or syllables."""
    return shares["Hangul"] + shares["Han"] + shares["Kana"] > 0.5


def _is_jamo(tokenizer: Any, number: int) -> bool:
    token = tokenizer.convert_ids_to_tokens(number)
    return not token.isascii() and CONJOINING.search(token) is not None


def vocabulary_notes(rows: Sequence[Row], tokenizer: Any, model: str) -> list[str]:
    """`misfit` of a task's rows, as notes; none for rows without `input`."""
    sample = rows[:: max(1, len(rows) // SAMPLE_TEXTS)]
    fault = misfit([row.input for row in sample if isinstance(row, OwnRow)], tokenizer, model)
    return [f"{fault.what}. {fault.remedy}"] if fault else []


def suggested_encoder(notes: Iterable[str]) -> str:
    """The first encoder that a run's notes from `vocabulary_notes` suggest; empty where they suggest none."""
    after = (note.partition(CHOOSE)[2] for note in notes)
    return next((text.partition(",")[0] for text in after if text), "")


def _script_shares(words: Sequence[str]) -> dict[str, float]:
    counts = census(["".join(words)])[0]
    of = {name: int(counts[kind_number(name)]) for name in SCRIPTS}
    of["Hangul"] += int(counts[kind_number("jamo")])
    return {name: count / max(1, sum(of.values())) for name, count in of.items()}


def _remedy(shares: dict[str, float]) -> str:
    script = "" if shares["Kana"] > SOME_KANA else max(shares, key=lambda name: shares[name])
    first, *others = (*ENCODERS.get(script, ()), *MULTILINGUAL)
    return f"{CHOOSE}{first}, or {', '.join(others)}"

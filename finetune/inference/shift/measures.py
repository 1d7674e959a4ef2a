"""What is measured of each row, whatever its task type: numbers by name, which two samples of rows are compared by."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from finetune.data.characters import KINDS, SCRIPTS, census
from finetune.data.rows import Row
from finetune.data.words.lists import by_language
from finetune.errors import UserError
from finetune.models.feature import Feature
from finetune.models.sequences import Sequences
from finetune.task_types.parts import Answer
from finetune.task_types.span.answers import SpanAnswer
from finetune.task_types.task import Task
from finetune.task_types.types import type_of

Measures = dict[str, NDArray[np.float32]]  # (rows, numbers) by what they measure
UNUSUAL = tuple(KINDS.index(name) for name in ("jamo", "control", "replacement"))
LATIN = KINDS.index("Latin")
OF_SCRIPTS = tuple(KINDS.index(name) for name in SCRIPTS)
EDGES = ".,;:!?\"'()"  # around words
ANSWERED = ("no answer", "an answer")
PARTS = ("the first text", "the second text")


def text_measures(task: Task, rows: Sequence[Row], features: Sequence[Feature], unknown: int | None) -> Measures:
    """Measures of the rows' texts and tokens; `unknown` is the id of the token for what the vocabulary lacks."""
    parts = [row_parts(task, row) for row in rows]
    texts = ["\n".join(some) for some in parts]
    tokens, missing = _tokens(features, len(rows), unknown)
    letters = np.array([max(1, len(text)) for text in texts])
    found = {
        "length": np.stack([np.log(np.maximum(1, tokens)), np.log(letters)], 1),
        "vocabulary": np.stack([missing / np.maximum(1, tokens), tokens / letters], 1),
        "language": np.concatenate([_scripts(texts), _common_words(texts)], 1),
        "writing": np.stack([_writing(text) for text in texts]),
    }
    if all(len(some) == len(PARTS) for some in parts):
        found["columns"] = np.stack([np.concatenate([_part(one) for one in some]) for some in parts])
    return {name: np.asarray(values, np.float32) for name, values in found.items()}


def row_parts(task: Task, row: Row) -> tuple[str, ...]:
    """A row's text; of a row with more than one the first, and the others together."""
    try:
        every = [one.text for some in task.explainer.texts(row) for one in some]
    except UserError:  # a task type whose predictions are not explained
        every = [str(getattr(row, "input", ""))]
    first, *others = dict.fromkeys(every)
    return (first, "\n".join(others)) if others else (first,)


def answer_measures(task: Task, answers: Sequence[Answer], labels: Sequence[str]) -> NDArray[np.float32]:
    """Of each prediction how often it has each label, its confidence, and its value if that is a number."""
    place = {label: index for index, label in enumerate(labels)}
    found = np.zeros((len(answers), len(labels) + 3), np.float32)
    for row, answer, given in zip(found, answers, labels_of(task, answers), strict=True):
        for label in given:
            row[place.get(label, len(labels))] = 1  # the last place is for labels that the reference lacks
        row[-2:] = _confidence(answer), answer.value if isinstance(answer.value, float) else 0
    return found


def labels_of(task: Task, answers: Sequence[Answer]) -> list[tuple[str, ...]]:
    """The labels of each prediction: of tags the types of entities, of a question whether it has an answer."""
    kind = type_of(task)
    if kind is None:
        return [()] * len(answers)
    if answers and isinstance(answers[0], SpanAnswer):
        return [(ANSWERED[bool(answer.value)],) for answer in answers]
    return [tuple(kind.labels_in(answer.value)) for answer in answers]


def _confidence(answer: Answer) -> float:
    """The mean distance of the probabilities from an even chance; of an answer in a text its score."""
    chances = np.asarray(answer.probabilities or [getattr(answer, "score", 0.0)], np.float64)
    return float(np.abs(chances - 0.5).mean())


def _tokens(
    features: Sequence[Feature], rows: int, unknown: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The number of tokens of each row, and of unknown ones, both `(rows,)`."""
    counted, missing = np.zeros(rows), np.zeros(rows)
    for sequence in Sequences(features):
        counted[sequence.row] += len(sequence.input_ids)
        if unknown is not None:
            missing[sequence.row] += np.count_nonzero(np.asarray(sequence.input_ids) == unknown)
    return counted, missing


def _scripts(texts: Sequence[str]) -> NDArray[np.float64]:
    """The share of each script among a text's letters."""
    counts = _kinds(texts)[:, OF_SCRIPTS].astype(np.float64)
    return np.asarray(counts / np.maximum(1, counts.sum(1, keepdims=True)))


def _kinds(texts: Sequence[str]) -> NDArray[np.int32]:
    """As `census`, whose table takes as long as predicting ten rows; ASCII texts need none."""
    found = np.zeros((len(texts), len(KINDS)), np.int32)
    others = [index for index, text in enumerate(texts) if not text.isascii()]
    if others:
        found[others] = census([texts[index] for index in others])
    for index in set(range(len(texts))).difference(others):
        found[index, LATIN] = sum(map(str.isalpha, texts[index]))
    return found


def _common_words(texts: Sequence[str]) -> NDArray[np.float64]:
    """The share of each language's most frequent words among a text's words."""
    of_word, count = _word_places()
    found = np.zeros((len(texts), count))
    for row, text in zip(found, texts, strict=True):
        words = text.lower().split()
        for word in words:
            for place in of_word.get(word.strip(EDGES), ()):
                row[place] += 1 / len(words)
    return found


@cache
def _word_places() -> tuple[Mapping[str, Sequence[int]], int]:
    """The languages of each frequent word, by number, and how many languages there are."""
    found: dict[str, list[int]] = {}
    lists = by_language("common")
    for place, words in enumerate(lists.values()):
        for word in words:
            found.setdefault(word, []).append(place)
    return found, len(lists)


def language_names() -> tuple[str, ...]:
    """The names of the measures of `language`: scripts, then languages."""
    words = (f"frequent words of {language}" for language in by_language("common"))
    return (*(f"{script} letters" for script in SCRIPTS), *words)


WRITING: Mapping[str, Callable[[str], bool]] = {
    "capitals": str.isupper,
    "digits": str.isdigit,
    "spaces": str.isspace,
    "punctuation": lambda letter: not letter.isalnum() and not letter.isspace(),
}


def _writing(text: str) -> NDArray[np.float64]:
    """The shares of WRITING among a text's characters, and of those that damage leaves behind."""
    count, kinds = max(1, len(text)), _kinds([text])[0]
    shares = [sum(map(is_one, text)) / count for is_one in WRITING.values()]
    return np.array([*shares, kinds[list(UNUSUAL)].sum() / count])


OF_PARTS = tuple(
    f"{what} of {part}" for part in PARTS for what in ("length", *WRITING, "damage", "question marks at the end")
)


def _part(text: str) -> NDArray[np.float64]:
    """What tells one column of texts from another."""
    return np.array([np.log(max(1, len(text))), *_writing(text), text.rstrip().endswith("?")])

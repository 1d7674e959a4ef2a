"""What is explained of tags: those of each predicted entity, or the tag of one word."""

from collections.abc import Sequence
from itertools import accumulate

from finetune.errors import UserError
from finetune.metrics.entities import chunks
from finetune.models.feature import Feature
from finetune.task_types.explained import Asked, NamedText, Pick, Target, Wanted
from finetune.task_types.tagging.row import TaggingRow
from finetune.task_types.task import Answer

MOST = 5  # entities of a row


def places(row: TaggingRow) -> list[tuple[int, int]]:
    """The characters of each word in the row's text."""
    starts = row.starts or tuple(accumulate((len(word) + 1 for word in row.words[:-1]), initial=0))
    return [(start, start + len(word)) for start, word in zip(starts, row.words, strict=True)]


def texts(row: TaggingRow) -> list[list[NamedText]]:
    """The row's own words; a running text, whose words may be single characters, has the tokenizer's."""
    return [[NamedText(name="text", text=row.input, words=None if row.text else places(row))]]


def targets(
    row: TaggingRow, labels: Sequence[str], answer: Answer, features: Sequence[Feature], asked: Asked
) -> Wanted:
    """The tags of the first entities, or the tag of the word that was asked for."""
    found = chunks(answer.value)
    shown = [f"{' '.join(row.words[first:last])} ({kind})" for kind, first, last in found]
    if asked.word is None:
        asked.require_no_label("a tag is explained for one word: name it with --word")
        spans = [(f"{kind}: {' '.join(row.words[a:b])}", range(a, b)) for kind, a, b in found[:MOST]]
        wanted = [(name, [(word, answer.value[word]) for word in span]) for name, span in spans]
    else:
        word = _number(row, asked.word)
        tag = asked.one_of(labels) or answer.value[word]
        wanted = [(f"{tag}: {row.words[word]}", [(word, tag)])]
    chances = answer.probabilities or ()
    made = [
        Target(
            label=name,
            picks=[pick for word, tag in tags for pick in _picks(word, labels.index(tag), features)],
            confidence=min(chances[word] for word, _ in tags) if all(answer.value[w] == t for w, t in tags) else None,
        )
        for name, tags in wanted
    ]
    return Wanted(
        prediction=", ".join(shown) or "no entity",
        confidence=None,
        targets=[target for target in made if target.picks],
    )


def _number(row: TaggingRow, word: str) -> int:
    if word not in row.words:
        raise UserError(f"the word '{word}' is not in the text", f"It is one of {', '.join(dict.fromkeys(row.words))}")
    return row.words.index(word)


def _picks(word: int, label: int, features: Sequence[Feature]) -> list[Pick]:
    """The tag's log-odds at the word's first token; none for a word that shares the token of the one before it."""
    return [
        Pick(feature=number, place=(place, label), against=1)
        for number, feature in enumerate(features)
        for place, (_, owner) in enumerate(feature.note.tolist())
        if owner == word
    ]

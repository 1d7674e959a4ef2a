"""What is explained of tags: those of each predicted entity, or the tag of one word."""

from collections.abc import Sequence

from finetune.errors import UserError
from finetune.metrics.entities import chunks
from finetune.models.feature import Feature
from finetune.task_types.explained import Asked, ExplainTarget, NamedText, Pick, Target
from finetune.task_types.parts import Answer
from finetune.task_types.tagging.row import TaggingRow

MOST_ENTITIES = 5  # entities of a row


def tag_texts(row: TaggingRow) -> list[list[NamedText]]:
    """The row's own words; a running text, whose words may be single characters, has the tokenizer's."""
    return [[NamedText(name="text", text=row.input, words=None if row.text else row.places)]]


def tag_targets(
    row: TaggingRow, labels: Sequence[str], answer: Answer, features: Sequence[Feature], asked: Asked
) -> ExplainTarget:
    """The tags of the first entities, or those of the words or characters that were asked for."""
    found = chunks(answer.value)
    shown = [f"{_text(row, range(first, last))} ({kind})" for kind, first, last in found]
    if asked.word is None:
        asked.require_no_label("a tag is explained for one word: name it with `word`")
        spans = [(kind, range(a, b)) for kind, a, b in found[:MOST_ENTITIES]]
        wanted = [(f"{kind}: {_text(row, span)}", [(n, answer.value[n]) for n in span]) for kind, span in spans]
    else:
        span = _numbers(row, asked.word)
        tag = asked.one_of(labels)
        tags = [answer.value[number] for number in span] if tag is None else _continued(tag, len(span), labels)
        wanted = [(f"{' '.join(tags)}: {_text(row, span)}", list(zip(span, tags, strict=True)))]
    chances = answer.probabilities or ()
    made = [
        Target(
            label=name,
            picks=[pick for word, tag in tags for pick in _picks(word, labels.index(tag), features)],
            confidence=min(chances[word] for word, _ in tags) if all(answer.value[w] == t for w, t in tags) else None,
        )
        for name, tags in wanted
    ]
    if asked.word is not None and not made[0].picks:
        raise UserError(f"'{asked.word}' shares a token with the character before it", "Name more of the word")
    return ExplainTarget(
        prediction=", ".join(shown) or "no entity", confidence=None, targets=[target for target in made if target.picks]
    )


def _text(row: TaggingRow, span: range) -> str:
    """The part of the text from the first to the last of some words."""
    return row.input[row.places[span[0]][0] : row.places[span[-1]][1]]


def _numbers(row: TaggingRow, word: str) -> range:
    """The numbers of the words, or characters, of which the first occurrence of `word` consists."""
    starts, ends = ([place[side] for place in row.places] for side in (0, 1))
    for start in starts:
        end = start + len(word)
        if row.input.startswith(word, start) and end in ends:
            return range(starts.index(start), ends.index(end) + 1)
    known = dict.fromkeys(row.input.split())
    raise UserError(f"the word '{word}' is not in the text", f"It is one of {', '.join(known)}")


def _continued(tag: str, count: int, labels: Sequence[str]) -> list[str]:
    """A tag for the first of some words, and the one that continues it, if there is one, for the others."""
    inner = f"I-{tag.partition('-')[2]}"
    return [tag, *[inner if inner in labels else tag] * (count - 1)]


def _picks(word: int, label: int, features: Sequence[Feature]) -> list[Pick]:
    """The tag's log-odds at the word's first token; none for a word that shares the token of the one before it."""
    return [
        Pick(feature=number, place=(place, label), against=1)
        for number, feature in enumerate(features)
        for place, (_, owner) in enumerate(feature.note.tolist())
        if owner == word
    ]

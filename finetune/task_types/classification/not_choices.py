"""Columns that look like choices of one question, which must not be read as a text or a pair."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from finetune.data.column_types import DIFFERENT_WORDS, ColumnFacts
from finetune.data.values import as_number, as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.choice_labels import choices_meant
from finetune.task_types.column_names import label_tier, name_words_of, names_annotator, numbered_groups, text_tier
from finetune.task_types.data_type import Evidence

ROWS_LOOKED_AT = 1_000
MOST_OF_LABELS = 0.9  # share of the labels that name a choice
TIMES_LONGER = 5  # times longer that one choice may be than another, on average
MOST_COUNTED = 6
SHARE_OF_VALUES = 0.5  # share of different values
COLUMNS_OFFERED = 6  # columns offered as the text
Facts = Mapping[str, ColumnFacts]


def require_no_choices(evidence: Evidence, label: Sequence[str], text: Sequence[str]) -> None:
    """Raises Ambiguous where columns look like choices, and the guess uses some of them as a text, or none."""
    facts = {
        n: fact for n, fact in evidence.facts.items() if not names_annotator(n) and not _is_vote(evidence, n, label)
    }
    texts = [
        name
        for name, fact in facts.items()
        if name not in label and (fact.kind in ("text", "category") or fact.why == DIFFERENT_WORDS)
    ]
    packed = [name for name in texts if {*name_words_of(name)} & {*word_list("choices")}]
    if packed and label:
        what = f"the column '{packed[0]}' looks like several choices in one text; write them as a JSON list"
        raise Ambiguous(
            f"{evidence.file}: {what}",
            [(f"text={name}", f"without {packed[0]}") for name in texts if name not in packed][:COLUMNS_OFFERED],
        )
    found: list[list[str]] = []
    for group in numbered_groups(texts).values():
        context = _context(facts, (*group, *label))
        two = bool(context) and (set(group) == set(text) or text_tier(group[0]) is None)
        answers = label or [name for name in facts if label_tier(name) is not None and name not in group]
        labels = [name for name in answers if name in facts and _is_right_choice(facts[name], facts[group[0]])]
        if labels or ((len(group) > 2 or two) and _names_one(evidence, label, group)):
            found.append([*context, *group, *labels])
    for window in islice(_counted(evidence, texts, label), COLUMNS_OFFERED):
        found += [window] if window not in found else []
    if found:
        choices = [(f"shape=choice text={','.join(names)}", "a question and its choices") for names in found]
        if len(found[0]) <= 3:
            choices.append((f"text={','.join(found[0][-2:])}", "as a pair"))
        texts.sort(key=lambda name: (text_tier(name) is None, -facts[name].length))
        choices += [(f"text={name}", f"{facts[name].words:.0f} words a row") for name in texts[:COLUMNS_OFFERED]]
        what = f"the columns {', '.join(found[0][1:])} look like choices of one question"
        raise Ambiguous(f"{evidence.file}: {what}", choices)


def _is_vote(evidence: Evidence, name: str, label: Sequence[str]) -> bool:
    """Whether a column holds labels of one annotator: all that it has are labels."""
    if len(label) != 1 or name in label:
        return False
    some = (evidence.columns.get(column, ())[:ROWS_LOOKED_AT] for column in (name, label[0]))
    votes, labels = ({as_text(cell) for cell in cells if not is_missing(cell)} for cells in some)
    return bool(votes) and votes <= labels


def _is_right_choice(label: ColumnFacts, choice: ColumnFacts) -> bool:
    """Whether a label is the right choice, written next to the wrong ones: a text like these, and as varied."""
    varied = label.kind in ("text", "id") and label.distinct > SHARE_OF_VALUES * label.filled
    return varied and label.length < TIMES_LONGER * choice.length


def _context(facts: Facts, taken: Sequence[str]) -> list[str]:
    texts = [fact for name, fact in facts.items() if name not in taken and fact.kind == "text"]
    return [fact.name for fact in texts if fact.words >= 3 or fact.unspaced][:1]


def _names_one(evidence: Evidence, label: Sequence[str], group: Sequence[str]) -> bool:
    """Whether labels are numbers of the columns, from 0 or 1, their letters, or what one of their cells says."""
    if len(label) != 1:
        return not label
    rows = islice(zip(*(evidence.columns[name] for name in (*label, *group)), strict=True), ROWS_LOOKED_AT)
    labelled = [(cell, list(map(as_text, choices))) for cell, *choices in rows if not is_missing(cell)]
    numbers = [as_number(cell) for cell, _ in labelled]
    places = sum(number is not None and number.is_integer() and 0 <= number <= len(group) for number in numbers)
    if places >= MOST_OF_LABELS * len(labelled):
        return len(group) > 2 or len(set(numbers)) == 2
    ways = Counter(way for cell, choices in labelled for way in choices_meant(cell, choices, group))
    return max(ways.values(), default=0) >= MOST_OF_LABELS * len(labelled)


def _counted(evidence: Evidence, every: Sequence[str], label: Sequence[str]) -> Iterator[list[str]]:
    """A text and as many columns after it as the label has letters or numbers, which are alike in length."""
    count, facts = _count_of(evidence, label), evidence.facts
    long = [name for name in every if facts[name].kind == "text"]
    for texts in (every, long) if 2 < count <= MOST_COUNTED else ():
        for start in range(len(texts) - count):
            context, *choices = texts[start : start + count + 1]
            lengths = [facts[name].length for name in choices]
            if facts[context].kind == "text" and max(lengths) <= TIMES_LONGER * min(lengths):
                yield [context, *choices]


def _count_of(evidence: Evidence, label: Sequence[str]) -> int:
    """How many letters a label has, or how far its numbers count; of numbers 0 where a column's name says text."""
    fact = evidence.facts[label[0]] if len(label) == 1 else None
    if fact is None or (fact.letters and fact.kind == "category"):
        return fact.distinct if fact else 0
    if fact.kind != "number" or not fact.whole or any(text_tier(name) in (0, 1) for name in evidence.facts):
        return 0
    numbers = {as_number(cell) for cell in evidence.columns[fact.name] if not is_missing(cell)}
    return len(numbers) if numbers in (set(range(len(numbers))), set(range(1, len(numbers) + 1))) else 0

"""Findings on tags and spans: a file's tag scheme, rows that break it, and spans that were changed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from finetune.data.issues import Finding, Issue
from finetune.data.messages import shown
from finetune.metrics.entities import split_tag
from finetune.task_types.findings import IMBALANCE, ONE_LABEL, UNEVEN, SplitRows, majority_finding
from finetune.task_types.tagging.segments import LEFT_OUT, changed_spans, segmented, unit

SCHEMES = {"IOB2": "BIO", "IOB1": "BIO", "IOBES": "BIOES", "BILOU": "BIOLU"}
TAG_SCHEME = Issue(
    "tag-scheme",
    "warning",
    "rows in another tag scheme than most of the file",
    "Use one scheme for all; they may be misread",
)
TAG_TRANSITION = Issue(
    "tag-transition",
    "warning",
    "rows with a tag that must not follow the one before it",
    "Correct them; an I-X that follows no X is read as the beginning of an entity",
)
SPAN = Issue(
    "span",
    "note",
    "character spans that were trimmed, widened or left out",
    "Fix start and end where that is not intended; an end is the position after the last character",
    worst="warning",
)
BLANK_TOKEN = Issue(
    "blank-token",
    "note",
    "sentences with tokens that are blank",
    "Nothing to do if that is intended; such a token is left out where its tag is O",
)
ISSUES = (TAG_SCHEME, TAG_TRANSITION, SPAN, BLANK_TOKEN)
SAMPLE_TEXTS = 1_000
MOSTLY_O = 0.99  # lowest usual share of words in no entity


def tagging_findings(rows: SplitRows, golds: Sequence[Sequence[str] | None]) -> Iterator[Finding]:
    """Imbalanced tags, transitions that a scheme forbids, and spans that were changed; `golds` are the rows' tags."""
    layout, columns = rows.layout, rows.table.columns
    if tags := Counter(tag for gold in golds for tag in gold or ()):
        yield from _balance(rows, tags)
    for what, indexes in rows.table.changes.items():
        yield Finding(BLANK_TOKEN, f"sentences with {what}", indexes)
    yield from span_findings(changed_spans(layout, columns))
    if layout.spans or layout.tag_form == "plain" or not layout.label or layout.label[0] not in columns:
        return
    cells = columns[layout.label[0]]
    written = {row: layout.tags(cells[row]) for row, gold in enumerate(golds) if gold and set(gold) != {"O"}}
    schemes = {row: [scheme for scheme in SCHEMES if is_legal(tags, scheme)] for row, tags in written.items()}
    main = max(SCHEMES, key=[scheme for fitting in schemes.values() for scheme in fitting].count)
    if other := [row for row, fitting in schemes.items() if fitting and main not in fitting]:
        what = f"rows in another tag scheme ({schemes[other[0]][0]}) than most of the file ({main})"
        yield Finding(TAG_SCHEME, what, other)
    if broken := [row for row, fitting in schemes.items() if not fitting]:
        example = shown(next(_breaks(written[broken[0]], main)))
        what = f"rows with a tag that must not follow the one before it in {main}, such as {example}"
        yield Finding(TAG_TRANSITION, what, broken)


def span_findings(changes: Mapping[str, Sequence[int]]) -> Iterator[Finding]:
    """What was changed in spans, with the indexes of the rows."""
    for what, indexes in changes.items():
        yield Finding(SPAN, what, indexes, worst=what.endswith(LEFT_OUT))


def _balance(rows: SplitRows, tags: Counter[str]) -> Iterator[Finding]:
    """The share of the most frequent tag, or of words in no entity, and whether one type has nearly all entities."""
    if rows.layout.tag_form == "plain":
        ((most, count),) = tags.most_common(1)
        share = count / tags.total()
        what = f"the most frequent tag is {shown(most)}: always predicting it has the accuracy {100 * share:.1f}"
        yield majority_finding(what, uneven=share >= UNEVEN)
        return
    item = "character" if rows.layout.characters else "word"
    if rows.layout.spans:  # a character in scripts without spaces
        item = unit(word for text in rows.texts[:SAMPLE_TEXTS] for word in segmented(text)[0])
    types = Counter({tag[2:]: tags[f"B-{tag[2:]}"] + tags[f"U-{tag[2:]}"] for tag in tags if tag != "O"})
    if not types:
        yield Finding(ONE_LABEL, f"no {item} is in an entity: all tags are O", worst=rows.trains)
        return
    if share := tags["O"] / tags.total():
        what = f"{100 * share:.1f} % of the {item}s are in no entity: always predicting O has that accuracy, and F1 0"
        yield majority_finding(what, uneven=share >= MOSTLY_O)
    ((most, entities),) = types.most_common(1)
    if len(types) > 1 and entities >= UNEVEN * types.total():
        what = f"{100 * entities / types.total():.1f} % of the entities are of the type {shown(most)}"
        yield Finding(IMBALANCE, what, remedy="Look at the F1 of each type; add rows with the others")


def is_legal(tags: Sequence[str], scheme: str) -> bool:
    """Whether every tag is allowed after the one before it."""
    return not any(_breaks(tags, scheme))


def _breaks(tags: Sequence[str], scheme: str) -> Iterator[str]:
    """Each two tags that must not follow each other, as `O I-X`; in IOBES and BILOU an entity has all its parts."""
    for pair in pairwise(["O", *tags, "O"]):
        (before, kind), (after, next_kind) = map(split_tag, pair)
        same, inner = kind == next_kind, before in "BI"
        legal = {"IOB2": after != "I" or same, "IOB1": after != "B" or (before != "O" and same)}
        if not legal.get(scheme, inner == (after in "IE") and (same or not inner)) or pair[1][0] not in SCHEMES[scheme]:
            yield " ".join(pair)

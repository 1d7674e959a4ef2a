"""Findings on tags and spans: a file's tag scheme, rows that break it, and spans that were changed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from finetune.data.issues import Finding, Issue
from finetune.data.messages import shown
from finetune.metrics.entities import split_tag
from finetune.task_types.findings import ONE_LABEL, SplitRows, constant_findings
from finetune.task_types.tagging.segments import LEFT_OUT, changed_spans

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
ISSUES = (TAG_SCHEME, TAG_TRANSITION, SPAN)


def tagging_findings(rows: SplitRows, golds: Sequence[Sequence[str] | None]) -> Iterator[Finding]:
    """Tags of one kind alone, transitions that a scheme forbids, and spans that were changed; `golds` are the rows'."""
    layout, columns = rows.layout, rows.table.columns
    counts = Counter(tag for gold in golds for tag in gold or ())
    if layout.tag_form == "plain":
        most = "the most frequent tag is {label}: always predicting it has the accuracy {accuracy}"
        yield from constant_findings(counts, "the tag {label}", most, worst=rows.trains)
    elif {*counts} == {"O"}:
        yield Finding(ONE_LABEL, "nothing is in an entity: all tags are O", worst=rows.trains)
    yield from changed_span_findings(changed_spans(layout, columns))
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


def changed_span_findings(changes: Mapping[str, Sequence[int]]) -> Iterator[Finding]:
    """What was changed in spans, with the indexes of the rows."""
    for what, indexes in changes.items():
        yield Finding(SPAN, what, indexes, worst=what.endswith(LEFT_OUT))


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

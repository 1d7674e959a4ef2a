"""Findings on tags and spans: a file's tag scheme, rows that break it, and spans that were changed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from finetune.data.issues import Finding, Issue
from finetune.data.messages import shown
from finetune.metrics.entities import split_tag
from finetune.task_types.findings import IMBALANCE, ONE_LABEL, UNEVEN, SplitRows, majority_finding
from finetune.task_types.tagging.char_spans import LEFT_OUT, changed_spans
from finetune.task_types.tagging.segments import segmented, unit

SCHEMES = {"IOB2": "BIO", "IOB1": "BIO", "IOBES": "BIOES", "BILOU": "BIOLU"}
TAG_SCHEME = Issue(
    code="tag-scheme",
    severity="warning",
    meaning="rows in another tag scheme than most of the file",
    remedy="Use one scheme for all; they may be misread",
)
TAG_TRANSITION = Issue(
    code="tag-transition",
    severity="warning",
    meaning="rows with a tag that must not follow the one before it",
    remedy="Correct them; an I-X that follows no X is read as the beginning of an entity",
)
SPAN = Issue(
    code="span",
    severity="note",
    worst="warning",
    meaning="character spans that were trimmed, widened or left out",
    remedy="Fix start and end where that is not intended; an end is the position after the last character",
)
BLANK_TOKEN = Issue(
    code="blank-token",
    severity="note",
    meaning="sentences with tokens that are blank",
    remedy="Nothing to do if that is intended; such a token is left out where its tag is O",
)
ISSUES = (TAG_SCHEME, TAG_TRANSITION, SPAN, BLANK_TOKEN)
SAMPLE_TEXTS = 1_000
MOSTLY_O = 0.99  # lowest usual share of words in no entity


def tagging_findings(rows: SplitRows, golds: Sequence[Sequence[str] | None]) -> Iterator[Finding]:
    """Imbalanced tags, transitions that a scheme forbids, and spans that were changed; `golds` are the rows' tags."""
    layout = rows.layout
    yield from _balance(rows, golds)
    for what, some in rows.table.changes.items():
        yield Finding(issue=BLANK_TOKEN, indexes=some, what=f"sentences with {what}")
    if not layout.label or layout.label[0] not in rows.table.columns:
        return
    if layout.tag_form != "plain":
        yield from _spans(rows) if layout.spans else _schemes(rows, golds)


def _balance(rows: SplitRows, golds: Sequence[Sequence[str] | None]) -> Iterator[Finding]:
    """The share of words in no entity, and whether one type has nearly all entities."""
    tags = Counter(tag for gold in golds for tag in gold or ())
    types = Counter({tag[2:]: tags[f"B-{tag[2:]}"] + tags[f"U-{tag[2:]}"] for tag in tags if tag != "O"})
    if not tags:
        return
    if rows.layout.tag_form == "plain":
        most, count = tags.most_common(1)[0]
        what = f"the most frequent tag is {shown(most)}: always predicting it has the accuracy "
        yield majority_finding(f"{what}{100 * count / tags.total():.1f}", uneven=count >= UNEVEN * tags.total())
        return
    if not types:
        yield Finding(issue=ONE_LABEL, what=f"no {_unit(rows)} is in an entity: all tags are O", worst=rows.trains)
        return
    share = tags["O"] / tags.total()
    what = (
        f"{100 * share:.1f} % of the {_unit(rows)}s are in no entity: always predicting O has that accuracy, and F1 0"
    )
    if share:
        yield majority_finding(what, uneven=share >= MOSTLY_O)
    most, entities = types.most_common(1)[0]
    if len(types) > 1 and entities >= UNEVEN * types.total():
        what = f"{100 * entities / types.total():.1f} % of the entities are of the type {shown(most)}"
        yield Finding(issue=IMBALANCE, what=what, remedy="Look at the F1 of each type; add rows with the others")


def _unit(rows: SplitRows) -> str:
    """What has a tag: a word, or a character of a running text in a script without spaces."""
    if rows.layout.spans:
        return unit(word for text in rows.texts[:SAMPLE_TEXTS] for word in segmented(text)[0])
    return "character" if rows.layout.characters else "word"


def _spans(rows: SplitRows) -> Iterator[Finding]:
    """The spans that were trimmed, widened or left out."""
    texts, cells = (rows.table.columns[names[0]] for names in (rows.layout.text, rows.layout.label))
    for what, some in changed_spans(texts, cells, rows.layout.spans).items():
        yield Finding(issue=SPAN, indexes=some, what=f"spans {what}", worst=what in LEFT_OUT)


def _schemes(rows: SplitRows, golds: Sequence[Sequence[str] | None]) -> Iterator[Finding]:
    """Transitions that the file's scheme forbids, and rows in another scheme."""
    cells = rows.table.columns[rows.layout.label[0]]
    written = {row: rows.layout.tags(cells[row]) for row, gold in enumerate(golds) if gold and set(gold) != {"O"}}
    fitting = {row: [name for name in SCHEMES if is_legal(tags, name)] for row, tags in written.items()}
    counts = Counter(name for names in fitting.values() for name in names)
    main = max(SCHEMES, key=lambda name: counts[name])
    wrong = [row for row, names in fitting.items() if main not in names]
    other = [row for row in wrong if fitting[row]]
    if other:
        what = f"rows in another tag scheme ({fitting[other[0]][0]}) than most of the file ({main})"
        yield Finding(issue=TAG_SCHEME, indexes=other, what=what)
    if broken := [row for row in wrong if not fitting[row]]:
        example = shown(_first_break(written[broken[0]], main))
        what = f"rows with a tag that must not follow the one before it in {main}, such as {example}"
        yield Finding(issue=TAG_TRANSITION, indexes=broken, what=what)


def is_legal(tags: Sequence[str], scheme: str) -> bool:
    """Whether every tag is allowed after the one before it."""
    return _first_break(tags, scheme) == ""


def _first_break(tags: Sequence[str], scheme: str) -> str:
    """The first two tags that must not follow each other, if any."""
    steps = pairwise(["O", *tags, "O"])
    return next((f"{one} {other}" for one, other in steps if not _may_follow(one, other, scheme)), "")


def _may_follow(one: str, other: str, scheme: str) -> bool:
    if other[:1] not in SCHEMES[scheme]:
        return False
    (before, kind), (after, next_kind) = split_tag(one), split_tag(other)
    same = kind == next_kind
    if scheme == "IOB2":
        return after != "I" or same
    if scheme == "IOB1":
        return after != "B" or (before != "O" and same)
    return (before in "BI") == (after in "IE") and (before not in "BI" or same)

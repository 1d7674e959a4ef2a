"""Checks of labels: missing ones, spellings of one label, and how many rows each has."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from finetune.checks.finding import MOSTLY, Finding, Severity
from finetune.checks.spellings import misspelled, unified
from finetune.checks.split_data import Part, labelled
from finetune.checks.text import BLANK
from finetune.data.column_types import as_number
from finetune.data.messages import shown

FEW = 10  # rows that a label needs to be learned
MOST_LABELS = 20_000  # among which misspelled ones are looked for
UNEVEN = 0.9  # share of the most frequent label
MOSTLY_O = 0.99  # share of words in no entity: far fewer than the usual ones
SHOWN = 5


def missing_labels(part: Part) -> Iterator[Finding]:
    """Rows without a label; a file for tests may have none at all."""
    if not part.layout.label:
        remedy = f"Name it: label=COLUMN, one of {', '.join(part.table.columns)}"
        what = "no column with labels was found"
        if len(part.table.columns) == 1:
            example = shown(next((text for text in part.texts if text), ""))
            what += f": the file has a single column, such as {example}"
            remedy = "Give each row a text and a label, for example as CSV with the columns text and label"
        yield part.found("error", "no-label-column", what, remedy)
        return
    if not labelled(part):
        if part.split != "test":
            yield part.found("error", "no-labels", "no row has a label", "Label them, or name the column: label=COLUMN")
        return
    indexes = [i for i, gold in enumerate(part.golds) if gold is None and part.texts[i]]
    if indexes:
        most = len(indexes) > MOSTLY * part.size and part.split != "test"
        remedy = "Label them; such rows are left out, and `--fix` drops them"
        if most:
            remedy = "Drop them with `finetune check FILE --fix NEW.csv`, or name another column: label=COLUMN"
        what = "most rows have no label" if most else "rows without a label"
        yield part.found("error" if most else "warning", "missing-label", what, remedy, indexes)


def blank_labels(part: Part) -> Iterator[Finding]:
    """Labels that are a word for nothing."""
    if not part.kind.named:
        return
    if found := [name for name in part.label_counts if name.casefold() in BLANK]:
        what = f"labels that look like a missing one: {', '.join(map(shown, found))}"
        remedy = "Leave the cell empty where there is no label; as it is, it counts as a label"
        yield part.found("warning", "blank-label", what, remedy, part.rows_with(found))


def spaces(part: Part) -> Iterator[Finding]:
    """Labels with spaces around them."""
    if not part.kind.respelled:
        return
    columns = [part.table.columns[name] for name in part.layout.label if name in part.table.columns]
    indexes = {i for cells in columns for i, cell in enumerate(cells) if type(cell) is str and cell != cell.strip()}
    indexes -= {i for cells in columns for i in indexes if cells[i] is None or not cells[i].strip()}
    if indexes:
        remedy = "Nothing need be done here, where they are overlooked; `--fix` removes them"
        yield part.found("note", "label-spaces", "spaces around labels", remedy, sorted(indexes))


def variants(part: Part) -> Iterator[Finding]:
    """Labels that differ only in case or spaces, or as numbers in how they are written."""
    if not part.kind.named:
        return
    if changed := unified(part.label_counts):
        pairs = ", ".join(f"{shown(old)} for {shown(new)}" for old, new in list(changed.items())[:SHOWN])
        what = f"labels that differ only in case or spaces: {pairs}"
        remedy = "Write each label in one way, as `--fix` does; they count as different ones"
        yield part.found("warning", "label-variant", what, remedy, part.rows_with(changed))
    by_number: defaultdict[float | None, list[str]] = defaultdict(list)
    for name in part.label_counts:
        by_number[as_number(name)].append(name)
    again = [names for number, names in by_number.items() if number is not None and len(names) > 1]
    if again:
        what = f"one number written in several ways: {'; '.join(', '.join(map(shown, some)) for some in again[:SHOWN])}"
        rare = [name for names in again for name in sorted(names, key=lambda name: -part.label_counts[name])[1:]]
        remedy = "Write each in one way; they count as different labels"
        yield part.found("warning", "label-number", what, remedy, part.rows_with(rare))


def typos(part: Part) -> Iterator[Finding]:
    """Rare labels that are one letter away from a frequent one."""
    if not part.kind.named or len(part.label_counts) > MOST_LABELS:
        return
    if found := misspelled(part.label_counts):
        pairs = ", ".join(f"{shown(old)} for {shown(new)}" for old, new in list(found.items())[:SHOWN])
        what = f"rare labels that look like a frequent one misspelled: {pairs}"
        yield part.found("warning", "label-typo", what, "Mend them if they are", part.rows_with(found))


def small_classes(part: Part) -> Iterator[Finding]:
    """Labels with too few rows to be learned, in the file for training."""
    if not part.kind.named or not part.trains:
        return
    spellings = unified(part.label_counts)
    counts: Counter[str] = Counter()
    for name, count in part.label_counts.items():
        counts[spellings.get(name, name)] += count
    alone, few = [n for n, c in counts.items() if c < 2], [n for n, c in counts.items() if 2 <= c < FEW]
    remedy = "Give them more rows, join them with others, or leave them out"
    if alone:
        what = f"labels with a single row, which cannot stand in train and dev: {_listed(alone)}"
        yield part.found("warning", "single-row", what, remedy, part.rows_with(alone))
    if few:
        what = f"labels with fewer than {FEW} rows: {_listed(f'{name} ({counts[name]})' for name in few)}"
        yield part.found("warning", "few-rows", what, remedy, part.rows_with(few))


def balance(part: Part) -> Iterator[Finding]:
    """One label alone, or one that most rows have: what it scores to answer it always."""
    if part.layout.shape == "regression":
        if len({gold for gold in part.golds if gold is not None}) == 1:
            yield part.found(
                "error",
                "one-label",
                "all rows have the same number",
                "There is nothing to learn; name another column: label=COLUMN",
            )
        return
    if part.layout.shape == "tagging":
        yield from _tags_balance(part)
        return
    sets = part.layout.shape == "multi-label"
    counts: Counter[Any] = Counter(gold for gold in part.golds if gold is not None) if sets else part.label_counts
    if part.layout.shape == "span" or not counts:
        return
    (most, rows), share = counts.most_common(1)[0], counts.most_common(1)[0][1] / counts.total()
    name = (f"no label but {_listed(map(shown, most))}" if most else "no label") if sets else f"the label {shown(most)}"
    if len(counts) == 1:
        severity: Severity = "error" if part.trains and part.layout.shape != "choice" else "warning"
        what = f"all {rows:,} labelled rows have {name}"
        yield part.found(
            severity, "one-label", what, "Training and scores need two or more; name another column: label=COLUMN"
        )
        return
    scores = f"accuracy {100 * share:.1f}" if not sets else f"exact match {100 * share:.1f}"
    if part.layout.shape == "classification":
        scores += f" and macro F1 {100 * 2 * share / (1 + share) / len(counts):.1f}"
    what = f"most rows have {name}" if sets else f"the most frequent label is {shown(most)}"
    yield _majority(part, f"{what}: to answer that always has {scores}", uneven=share >= UNEVEN)


def _tags_balance(part: Part) -> Iterator[Finding]:
    """The same of tags: how many words are in no entity, and whether one type has nearly all entities."""
    tags = Counter(tag for gold in part.golds for tag in gold or ())
    types = Counter({name: sum(tags[f"{begin}-{name}"] for begin in "BU") for name in part.label_counts})
    if not tags:
        return
    if not types:
        severity: Severity = "error" if part.trains else "warning"
        yield part.found(
            severity,
            "one-label",
            "no word is in an entity: all tags are O",
            "There is nothing to learn; name another column: label=COLUMN",
        )
        return
    share = tags["O"] / tags.total()
    what = f"{100 * share:.1f} % of the words are in no entity: to answer O always has that accuracy, and F1 0"
    yield _majority(part, what, uneven=share >= MOSTLY_O)
    most, entities = types.most_common(1)[0]
    if len(types) > 1 and entities >= UNEVEN * types.total():
        what = f"{100 * entities / types.total():.1f} % of the entities are of the type {shown(most)}"
        yield part.found("warning", "imbalance", what, "Look at the F1 of each type; add rows with the others")


def _majority(part: Part, what: str, *, uneven: bool) -> Finding:
    if not uneven:
        return part.found("note", "majority", what, "Compare the model's scores with these")
    remedy = "Go by macro F1 rather than accuracy; class_weight=balanced gives rare labels more weight"
    other = "Go by the F1 of each label; add rows with the rare ones"
    remedy = remedy if part.layout.shape == "classification" else other
    return part.found("warning", "imbalance", what, remedy)


def _listed(names: Iterable[str]) -> str:
    every = [str(name) for name in names]
    return ", ".join(every[:SHOWN]) + (f" and {len(every) - SHOWN} more" if len(every) > SHOWN else "")

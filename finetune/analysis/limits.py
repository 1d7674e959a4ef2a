"""What a run's numbers say about the limits of its model, in sentences: its rows, labels, baselines and lengths."""

from collections.abc import Iterator, Mapping, Sequence

from finetune.data.messages import first_of, percent, so_many
from finetune.runs.record import RunRecord
from finetune.runs.verdict import baseline_words, dev_choices, known_to_model, verdict_of
from finetune.task_types.marked_text import cut
from finetune.task_types.predictions import Predictions

FEW_ROWS = 1_000
FEW_OF_A_CLASS = 20
NAMED = 5  # classes of a sentence
COMMON_SHARE = 0.9  # share of the labels that one class has, from which others are rare


def limits_of(seeds: Sequence[RunRecord], table: Predictions | None, split: str) -> list[str]:
    """Every limit of a run, the first of `seeds`, and of its predictions of a split, where there are any."""
    record = seeds[0]
    return [
        *_about_baseline(seeds),
        *_about_choices(record),
        *about_rows(record),
        *about_labels(record),
        *about_classes({} if table is None else table.classes, split),
        *_about_lengths(record, table, split),
    ]


def about_rows(record: RunRecord) -> Iterator[str]:
    """Few training rows."""
    count = record.rows.get("train", 0)
    if 0 < count < FEW_ROWS:
        yield f"Trained on {so_many(count)}: another seed or other rows may give quite another score."


def about_labels(record: RunRecord) -> Iterator[str]:
    """Labels of few training rows, and one that nearly all rows have."""
    counts = record.labels.get("train", {})
    total = sum(counts.values())
    few = [name for name, count in counts.items() if count < FEW_OF_A_CLASS]
    if few:
        yield f"Fewer than {FEW_OF_A_CLASS} training labels: {_first(few)}. Do not rely on their scores."
    if total and len(counts) > 1 and max(counts.values()) > COMMON_SHARE * total:
        name = max(counts, key=counts.__getitem__)
        share = 100 * counts[name] / total
        yield f"{share:.0f} % of the training labels are {cut(name, 40)}; look at the F1 of the rare ones."


def about_classes(classes: Mapping[str, tuple[int, int, int]], split: str) -> Iterator[str]:
    """Classes that are never predicted, and those whose scores are of few labels."""
    never = [
        f"{name} ({so_many(there, 'label')})" for name, (there, given, _) in classes.items() if there and not given
    ]
    if never:
        yield f"Never predicted in {split}: {_first(never)}."
    few = [f"{name} ({there:,})" for name, (there, _, _) in classes.items() if 0 < there < FEW_OF_A_CLASS]
    if few:
        yield (
            f"Classes with fewer than {FEW_OF_A_CLASS} labels in {split}: {_first(few)}. Their scores may be quite "
            "different on other rows."
        )


def _about_baseline(records: Sequence[RunRecord]) -> Iterator[str]:
    """A run, or several that differ in seeds alone, that is not clearly better than the best baseline."""
    found = verdict_of(records)
    if found.level in ("worse", "unclear") and found.baseline is not None:
        words = "worse than" if found.level == "worse" else "not clearly better than"
        yield f"On {found.split} it is {words} {baseline_words(found.baseline)}, which is simpler."


def _about_choices(record: RunRecord) -> Iterator[str]:
    """What dev chose, so that its scores are optimistic, rows that the model knows, and what is wrong with the data."""
    yield from (f"{sentence[:1].upper()}{sentence[1:]}." for sentence in dev_choices(record))
    known = [known_to_model(record), *(one.what for one in record.findings)]
    yield from (f"{text[:1].upper()}{text[1:]}." for text in known if text)


def _about_lengths(record: RunRecord, table: Predictions | None, split: str) -> Iterator[str]:
    """The longest row that was scored, and the share of rows that were truncated."""
    if table is not None:
        longest = f"{max(table.lengths):,} characters"
        yield f"The longest of the {len(table):,} rows of {split} has {longest}: nothing is known of longer ones."
    for name, share in record.truncated.items():
        if share:
            yield f"{percent(share)} of the rows of {name} were truncated, at {record.recipe.get('max_length')} tokens."


def _first(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    return first_of([cut(name, 60) for name in names], NAMED)

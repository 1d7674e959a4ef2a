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
    record, verdict, limits = seeds[0], verdict_of(seeds), list[str]()
    if verdict.level in ("worse", "unclear") and verdict.baseline is not None:
        words = "worse than" if verdict.level == "worse" else "not clearly better than"
        limits.append(f"On {verdict.split} it is {words} {baseline_words(verdict.baseline)}, which is simpler.")
    # What dev chose, so that its scores are optimistic, rows that the model knows, and what is wrong with the data.
    notes = [*dev_choices(record), known_to_model(record), *(finding.what for finding in record.findings)]
    limits += [f"{note[:1].upper()}{note[1:]}." for note in notes if note]
    limits += [*about_training(record), *about_classes({} if table is None else table.classes, split)]
    if table is not None:
        longest = f"{max(table.lengths):,} characters"
        limits.append(
            f"The longest of the {len(table):,} rows of {split} has {longest}: nothing is known of longer ones."
        )
    limits += [
        f"{percent(share)} of the rows of {name} were truncated, at {record.recipe.get('max_length')} tokens."
        for name, share in record.truncated.items()
        if share
    ]
    return limits


def about_training(record: RunRecord) -> Iterator[str]:
    """Few training rows, labels with few of them, and one that nearly all rows have."""
    rows, counts = record.rows.get("train", 0), record.labels.get("train", {})
    if 0 < rows < FEW_ROWS:
        yield f"Trained on {so_many(rows)}: another seed or other rows may give quite another score."
    if few := [name for name, count in counts.items() if count < FEW_OF_A_CLASS]:
        yield f"Fewer than {FEW_OF_A_CLASS} training labels: {_first(few)}. Do not rely on their scores."
    total = sum(counts.values())
    if total and len(counts) > 1 and max(counts.values()) > COMMON_SHARE * total:
        name = max(counts, key=counts.__getitem__)
        share = 100 * counts[name] / total
        yield f"{share:.0f} % of the training labels are {cut(name, 40)}; look at the F1 of the rare ones."


def about_classes(classes: Mapping[str, tuple[int, int, int]], split: str) -> Iterator[str]:
    """Classes that are never predicted, and those whose scores are of few labels."""
    labels = {name: (there, predicted) for name, (there, predicted, _) in classes.items() if there}
    if never := [f"{name} ({so_many(there, 'label')})" for name, (there, predicted) in labels.items() if not predicted]:
        yield f"Never predicted in {split}: {_first(never)}."
    if few := [f"{name} ({there:,})" for name, (there, _) in labels.items() if there < FEW_OF_A_CLASS]:
        yield (
            f"Classes with fewer than {FEW_OF_A_CLASS} labels in {split}: {_first(few)}. Their scores may be quite "
            "different on other rows."
        )


def _first(names: Sequence[str]) -> str:
    return first_of([cut(name, 60) for name in names], NAMED)

"""What to keep in mind before using a model: its data, what was truncated, noise, and the run's notes."""

from collections.abc import Iterator, Sequence

from finetune.analysis.label_errors import suspects
from finetune.analysis.temperature import temperature_of
from finetune.commands.report.blocks import Block
from finetune.commands.report.run_files import RunFiles, view_of_run
from finetune.data.messages import first_of, so_many
from finetune.runs.record import RunRecord
from finetune.task_types.marked_text import cut
from finetune.task_types.view import ClassScore

ORDER = 60
MOST_NOTES = 50  # notes
FEW_ROWS = 1_000
FEW_OF_A_CLASS = 20
NAMED = 5  # classes of a sentence
COMMON_SHARE = 0.9  # share of the labels that one class has, from which others are rare


def blocks(run: RunFiles) -> Iterator[Block]:
    """One sentence each; the run's notes last, such as those on truncated rows."""
    points = [*_about_rows(run.record), *_about_labels(run.record), *_about_predictions(run)]
    points += [cut(note) for note in run.record.notes[:MOST_NOTES]]
    if points:
        yield Block(title="Limits and notes", points=points)


def _about_rows(record: RunRecord) -> Iterator[str]:
    count = record.rows.get("train", 0)
    if 0 < count < FEW_ROWS:
        yield f"Trained on {so_many(count)}: another seed or other rows may give quite another score."


def _about_labels(record: RunRecord) -> Iterator[str]:
    counts = record.labels.get("train", {})
    total = sum(counts.values())
    few = [name for name, count in counts.items() if count < FEW_OF_A_CLASS]
    if few:
        yield f"Fewer than {FEW_OF_A_CLASS} training labels: {_first(few)}. Do not rely on their scores."
    if total and len(counts) > 1 and max(counts.values()) > COMMON_SHARE * total:
        name = max(counts, key=counts.__getitem__)
        share = 100 * counts[name] / total
        yield f"{share:.0f} % of the training labels are {cut(name, 40)}; look at the F1 of the rare ones."


def _about_predictions(run: RunFiles) -> Iterator[str]:
    split = next(iter(run.predictions), "")
    view = view_of_run(run, split)
    if view is None:
        return
    yield from about_classes(view.classes(), split)
    count = int(suspects(view, temperature_of(view)).sum())
    if count:
        share = 100 * count / len(view.lines)
        why = "whose label the model contradicts with high confidence" if view.bounded else "with a very large error"
        yield (
            f"{so_many(count)} of {split} ({share:.1f} %) {why}: either the label or the prediction is wrong; look at "
            "the possible label errors among the rows."
        )


def about_classes(classes: Sequence[ClassScore], split: str) -> Iterator[str]:
    """Classes that are never predicted, and those whose scores are of few labels."""
    never = [f"{one.name} ({so_many(one.gold, 'label')})" for one in classes if one.gold and not one.answered]
    if never:
        yield f"Never predicted in {split}: {_first(never)}."
    few = [f"{one.name} ({one.gold:,})" for one in classes if 0 < one.gold < FEW_OF_A_CLASS]
    if few:
        yield (
            f"Classes with fewer than {FEW_OF_A_CLASS} labels in {split}: {_first(few)}. Their scores may be quite "
            "different on other rows."
        )


def _first(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    return first_of([cut(name, 60) for name in names], NAMED)

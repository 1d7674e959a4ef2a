"""What to keep in mind before using a model: its data, what was truncated, noise, and the run's notes."""

from collections.abc import Iterator

from finetune.analysis.label_errors import suspects
from finetune.analysis.limits import about_classes, about_labels, about_rows
from finetune.analysis.temperature import temperature_of
from finetune.commands.report.blocks import Block
from finetune.commands.report.run_files import RunFiles, view_of_run
from finetune.data.messages import so_many
from finetune.task_types.marked_text import cut

ORDER = 160
MOST_NOTES = 50  # notes


def blocks(run: RunFiles) -> Iterator[Block]:
    """One sentence each; the run's notes last, such as those on truncated rows."""
    points = [*about_rows(run.record), *about_labels(run.record), *_about_predictions(run)]
    points += [cut(note) for note in run.record.notes[:MOST_NOTES]]
    if points:
        yield Block(title="Limits and notes", points=points)


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

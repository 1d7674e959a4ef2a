"""What to keep in mind before using a model: its data, what was truncated, languages, noise, and the run's notes."""

from collections.abc import Iterator

from finetune.analysis.report.blocks import Block
from finetune.analysis.report.filters import SCRIPT, slices_in
from finetune.analysis.report.label_errors import suspects
from finetune.analysis.report.run_files import RunFiles
from finetune.data.messages import so_many
from finetune.runs.dev_choices import all_notes
from finetune.runs.record import RunRecord
from finetune.task_types.marked_text import cut
from finetune.task_types.run_view import split_view_of
from finetune.task_types.view import View

ORDER = 60
MOST = 50  # notes
FEW_ROWS = 1_000
FEW_OF_A_CLASS = 20
RARE = 0.9  # share of the labels that one class has, from which others are rare


def blocks(run: RunFiles) -> Iterator[Block]:
    """One sentence each; the run's notes last, such as those on truncated rows."""
    points = [*_about_rows(run.record), *_about_labels(run.record), *_about_predictions(run)]
    points += [cut(note) for note in all_notes(run.record)[:MOST]]
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
        shown = ", ".join(cut(name, 40) for name in few[:3]) + (f" and {len(few) - 3} more" if len(few) > 3 else "")
        yield f"Fewer than {FEW_OF_A_CLASS} training labels: {shown}. Do not rely on their scores."
    if total and len(counts) > 1 and max(counts.values()) > RARE * total:
        name = max(counts, key=counts.__getitem__)
        share = 100 * counts[name] / total
        yield f"{share:.0f} % of the training labels are {cut(name, 40)}; look at the F1 of the rare ones."


def _about_predictions(run: RunFiles) -> Iterator[str]:
    split, lines = next(iter(run.predictions.items()), ("", ()))
    view = split_view_of(run.record, run.folder, split, lines)
    if view is None:
        return
    yield from _about_scripts(view, split)
    count = int(suspects(view).sum())
    if count:
        share = 100 * count / len(view.lines)
        yield (
            f"{so_many(count)} of {split} ({share:.1f} %) may have a wrong label; no score can be trusted beyond that."
        )


def _about_scripts(view: View, split: str) -> Iterator[str]:
    for name, values in slices_in(view):
        if name == SCRIPT:
            most = max(set(values), key=values.count)
            other = 100 * (1 - values.count(most) / len(values))
            yield f"{other:.0f} % of the rows of {split} are in another script than {most}: see the parts of the data."
            return

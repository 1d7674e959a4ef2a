"""Predicts a pool, and writes the rows of which the model is least sure."""

import heapq
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pandas as pd

from finetune.data.characters import same_text
from finetune.data.messages import noun, so_many
from finetune.data.reading import read_table, reading_notes, records, survey
from finetune.data.writing import write_rows
from finetune.errors import UserError
from finetune.inference.answer_rows import free_name
from finetune.inference.predict_plan import columns_read, known_type, require_settings
from finetune.inference.predictor import Predictor
from finetune.runs.events import RowsPredicted, Watcher
from finetune.runs.record import RunRecord
from finetune.task_types.columns import Layout
from finetune.task_types.pretraining.own import Text
from finetune.task_types.row_builder import rows_of
from finetune.task_types.row_issues import NoRow
from finetune.task_types.saved_predictions import confidences
from finetune.task_types.trained_form import form_for


def write_next_rows(
    predictor: Predictor,
    record: RunRecord,
    pool: Path,
    output: Path | None,
    *,
    rows: int,
    options: Mapping[str, str],
    watch: Watcher,
) -> dict[str, Any]:
    """Writes rows of a pool with an empty column of labels and the predictions, the least sure ones first; returns what
    `NextRows` has.

    Raises UserError for a pool that cannot be read or has no row to label, and for an output that cannot be written.
    """
    require_settings(options)
    task, kind = predictor.task, known_type(predictor.task)
    if isinstance(kind, Text) or predictor.layout is None:
        raise UserError(f"{task.name}: its rows are not of a file with labels of yours", "Name another run")
    file = columns_read(pool, kind, predictor.layout, options, inputs=task.inputs)
    form, layout = file.form, file.layout
    trained, notes = _trained_texts(record, predictor.layout, file.notes)
    total, names = survey(pool, form)
    labels = predictor.layout.label or ("label",)
    suggested = free_name(f"suggested {labels[0] if len(labels) == 1 else 'label'}", names)
    raw = {name: raw for raw, name in layout.names.items()}
    counts, failures, seen = Counter[str](), list[str](), set[int]()

    def candidates() -> Iterator[tuple[float, int, dict[str, Any]]]:
        """(certainty, key, row) of each text that the run has not read; without certainties their keys are random."""
        started = time.perf_counter()
        for window in predictor.predicted((line, layout) for line in records(pool, form)):
            pairs = [(one.row, one.answer) for one in window if one.answer is not None]
            sure = iter(confidences(task, predictor.engine.labels, pairs))
            for one in window:
                certainty = None if one.answer is None else next(sure)
                if one.row is None or one.answer is None:
                    failures.append(f"row {one.record.row} {one.error}")
                elif (key := row_key(one.row.input)) in trained:
                    counts["known"] += 1
                elif key not in seen:
                    seen.add(key)
                    label = predictor.cells(one)["prediction"]
                    label = raw.get(label, label) if isinstance(label, str) else label
                    own = {suggested: label, "certainty": certainty and round(certainty, 4)}
                    first = dict.fromkeys((*layout.text_columns, *labels, *own))
                    yield certainty or 0.0, key, first | one.record.values | dict.fromkeys(labels, "") | own
            counts["rows"] += len(window)
            rate = counts["rows"] / (time.perf_counter() - started)
            watch(RowsPredicted(done=counts["rows"], total=max(counts["rows"], total), rate=rate))

    chosen = [row for _, _, row in heapq.nsmallest(rows, candidates())]
    if not chosen and counts["known"]:
        raise UserError(f"{pool}: all {so_many(counts['known'])} were read by the run already", "Name other rows")
    if not chosen:
        raise UserError(f"{pool}: no row can be predicted: {failures[0]}", "Run `finetune check` to see why")
    if failures:
        left_out = f"{noun(len(failures), 'is', 'are')} left out: the first, {failures[0]}"
        notes = [*notes, f"{so_many(len(failures))} cannot be predicted, and {left_out}"]
    if len(chosen) < rows:
        notes = [*notes, f"only {so_many(len(chosen))} of the {rows:,} asked for: the pool has no others"]
    written = [*dict.fromkeys(name for row in chosen for name in row)]
    if output is not None:
        write_rows(output, chosen, written, escaped=[suggested])
    return {
        "path": output,
        "rows": counts["rows"],
        "known": counts["known"],
        "failed": len(failures),
        "chosen": len(chosen),
        "settings": {"shape": kind.name, "text": layout.text_setting, "label": ",".join(labels)},
        "notes": [*reading_notes(pool, form), *notes],
        "frame": pd.DataFrame(chosen, columns=written),
    }


def row_key(text: str) -> int:
    """A hash of a text that ignores case and spaces; it orders texts at random."""
    digest = blake2b(same_text(text).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big")


def _trained_texts(record: RunRecord, layout: Layout, notes: list[str]) -> tuple[set[int], list[str]]:
    """The keys of all rows that a run was trained or scored on, and a note more where they cannot be read."""
    keys, options = set[int](), record.recipe.get("options", {})
    given = {name: str(options.get(name, "")) for name in ("encoding", "sheet")}
    for origin in record.data_origin.values():
        try:
            table = read_table(Path(origin), form=form_for(Path(origin), layout, given))
        except UserError as error:
            notes = [*notes, f"the rows of {origin} are not left out where the pool has them ({error.what})"]
        else:
            rows = [row for _, row in rows_of(layout, table) if not isinstance(row, NoRow)]
            keys.update(row_key(row.input) for row in rows if row.gold is not None)
    return keys, notes

"""Predicts a pool, and writes the rows of which the model is least sure, and some at random."""

import heapq
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from finetune.commands.label_next.result import NextRows
from finetune.data.characters import same_text
from finetune.data.messages import noun, so_many
from finetune.data.reading import first_rows, reading_notes, records, survey
from finetune.data.source import Source
from finetune.data.writing import write_rows
from finetune.errors import UserError
from finetune.inference.answer_rows import answered_rows, free_name, windows
from finetune.inference.predict_plan import SAMPLE_ROWS, known_type, layout_for, require_settings
from finetune.inference.predictor import Predictor
from finetune.runs.events import RowsPredicted, Watcher
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.record_parts import OLD_DEV
from finetune.task_types.columns import Layout
from finetune.task_types.pretraining.columns import Text
from finetune.task_types.row_builder import row_of
from finetune.task_types.row_issues import NoRow
from finetune.task_types.task import Task
from finetune.task_types.trained_form import form_for


def write_next_rows(
    predictor: Predictor,
    folder: RunFolder,
    pool: Path,
    output: Path,
    *,
    rows: int,
    random: float,
    options: Mapping[str, str],
    source: Source,
    watch: Watcher,
) -> NextRows:
    """Writes rows of a pool with an empty column of labels and the predictions, the least sure ones first.

    Raises UserError for a pool that cannot be read or has no row to label, and for an output that cannot be written.
    """
    require_settings(options)
    task, kind = predictor.task, known_type(predictor.task)
    if isinstance(kind, Text):
        raise UserError(f"{task.name}: {kind.name} rows have no labels to ask for", "Name another run")
    columns = {name: value for name, value in options.items() if name not in ("encoding", "sheet")}
    form = form_for(pool, predictor.layout, options, inputs=task.inputs)
    sample = first_rows(pool, form, most=SAMPLE_ROWS)
    layout, notes = layout_for(kind, predictor.layout, sample, columns, inputs=task.inputs)
    known, lost = known_texts(load_record(folder.record_file), task, predictor.layout, source)
    at_random = round(random * rows)
    kept = {"unsure": BestRows(rows), "random": BestRows(at_random)}
    count = known_count = failed = 0
    unusable, started, (total, _) = "", time.perf_counter(), survey(pool, form)
    for window in windows(records(pool, form)):
        for record, row, answer in answered_rows(predictor, layout, window):
            count += 1
            if row is None or isinstance(answer, str):
                failed += 1
                unusable = unusable or f"row {record.row} {answer}"
                continue
            if (key := row_key(row.input)) in known:
                known_count += 1
                continue
            confidence = task.codec.confidence(answer, row)
            cell = predictor.cells(kind, layout, answer, row)["prediction"]
            facts = {"suggested": cell, "certainty": None if confidence is None else round(confidence, 4)}
            kept["unsure"].add(1.0 if confidence is None else 1.0 - confidence, key, record.values | facts)
            kept["random"].add(0.0, key, record.values | facts)
        rate = count / (time.perf_counter() - started)
        watch(RowsPredicted(done=count, total=max(count, total), rate=rate))
    chosen = list(_chosen(kept, rows))
    if not chosen and known_count:
        raise UserError(f"{pool}: all {so_many(known_count)} were read by the run already", "Name other rows")
    if not chosen:
        raise UserError(f"{pool}: no row can be predicted: {unusable}", "Run `finetune check` to see why")
    if failed:
        left_out = f"{noun(failed, 'is', 'are')} left out: the first, {unusable}"
        notes = [*notes, f"{so_many(failed)} cannot be predicted, and {left_out}"]
    if len(chosen) < rows:
        notes = [*notes, f"only {so_many(len(chosen))} of the {rows:,} asked for: the pool has no others"]
    labels = (predictor.layout or layout).label or ("label",)
    _write(output, chosen, layout, labels)
    settings = {"shape": kind.name, "text": layout.text_setting, "label": ",".join(labels)}
    return NextRows(
        path=output, rows=count, known=known_count, failed=failed, chosen=len(chosen),
        random=sum(one["chosen"] == "random" for one in chosen), settings=settings,
        notes=[*reading_notes(pool, form), *filter(None, [lost]), *notes],
    )  # fmt: skip


@dataclass
class BestRows:
    """The `most` rows with the highest ranks, one for each text; of equal ranks those with the highest keys."""

    most: int
    heap: list[tuple[float, int, dict[str, Any]]] = field(default_factory=list)
    keys: set[int] = field(default_factory=set)

    def add(self, rank: float, key: int, row: dict[str, Any]) -> None:
        """Keeps the row if it is among the best; no two texts have the same key."""
        if key in self.keys or (len(self.heap) == self.most and (not self.most or (rank, key) < self.heap[0][:2])):
            return
        if len(self.heap) == self.most:
            self.keys.discard(heapq.heappop(self.heap)[1])
        heapq.heappush(self.heap, (rank, key, row))
        self.keys.add(key)


def row_key(text: str) -> int:
    """A hash of a text that ignores case and spaces; it orders texts at random."""
    digest = blake2b(same_text(text).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big")


def _chosen(kept: Mapping[str, BestRows], rows: int) -> Iterator[dict[str, Any]]:
    """The random rows, and so many others that there are `rows`, the least sure first, with why each was chosen."""
    at_random = kept["random"].keys
    least_sure = [one for one in sorted(kept["unsure"].heap, key=lambda one: one[:2])[::-1] if one[1] not in at_random]
    chosen = [(one, "unsure") for one in least_sure[: rows - len(at_random)]]
    chosen += [(one, "random") for one in kept["random"].heap]
    for (_, _, row), why in chosen:
        yield row | {"chosen": why}


def _write(output: Path, chosen: list[dict[str, Any]], layout: Layout, labels: Collection[str]) -> None:
    """Writes the texts, the empty labels, the suggestions, and the other columns of the pool."""
    others = dict.fromkeys(name for row in chosen for name in row)
    own = {"suggested", "certainty", "chosen"}
    suggested = free_name(f"suggested {next(iter(labels)) if len(labels) == 1 else 'label'}", others)
    names = dict.fromkeys(
        [*layout.text_columns, *labels, suggested, "chosen", "certainty", *(o for o in others if o not in own)]
    )
    spelled = {name: raw for raw, name in layout.names.items()}
    empty = dict.fromkeys(labels, "")
    rows = []
    for row in chosen:
        cell = row["suggested"]
        rows.append({**row, **empty, suggested: spelled.get(cell, cell) if isinstance(cell, str) else cell})
    write_rows(output, rows, [*names], escaped=[suggested])


def known_texts(record: RunRecord, task: Task, layout: Layout | None, source: Source) -> tuple[set[int], str]:
    """The keys of all rows that a run was trained or scored on, and a note where they are not all known."""
    known: set[int] = set()
    for split, origin in record.data_origin.items():
        if split == OLD_DEV:
            continue
        try:
            if layout is None:
                known.update(row_key(row.input) for row in task.load(source, split).rows)
            else:
                known.update(_file_texts(Path(origin), layout, record.recipe.get("options", {})))
        except UserError as error:
            return known, f"the rows of {origin} are not left out where the pool has them ({error.what})"
    return known, ""


def _file_texts(file: Path, layout: Layout, options: Mapping[str, Any]) -> Iterator[int]:
    form = form_for(file, layout, {name: str(options.get(name, "")) for name in ("encoding", "sheet")})
    for record in records(file, form):
        try:
            row = row_of(layout, record)
        except NoRow:
            continue
        if row.gold is not None:
            yield row_key(row.input)

"""Chooses the rows of a pool that are worth labelling next, and writes them for a labelling tool."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from finetune.commands.label_next.candidates import PoolCandidate, PoolRows, pool_key, read_pool
from finetune.commands.label_next.choose import SPREAD_AMONG, interleaved, spread
from finetune.commands.label_next.labelled_rows import OwnRows, earlier_texts, labelled_texts, own_rows
from finetune.commands.label_next.outputs import TABLE, Item, LabellingTarget, require_tool, tool_of, write_items
from finetune.commands.label_next.result import AskedRows, NextRows
from finetune.data.messages import noun, so_many
from finetune.data.outputs import require_replaceable_output
from finetune.data.reading import first_rows, reading_notes, records, survey
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.predict_plan import SAMPLE_ROWS, known_type, layout_for, require_settings
from finetune.inference.predictor import Predictor
from finetune.models.caller_state import plain_mode
from finetune.models.sequences import Sequences
from finetune.runs.events import Watcher
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.task_types.columns import Layout
from finetune.task_types.trained_form import form_for

SPARE = 2  # times as many rows are kept as may be chosen, since some are drawn at random too
MOST_SPREAD = 5_000  # rows that are spread; of more the least sure are taken, since k-means takes their square in time
UNSURE, RANDOM, LABELLED = "unsure", "random", "labelled"  # why a row is in the output
SPLIT = "split"  # the column that says which rows are dev, and the setting that names it


def write_next_rows(
    predictor: Predictor,
    folder: RunFolder,
    pool: Path,
    output: Path,
    *,
    asked: AskedRows,
    to: str | None,
    options: Mapping[str, str],
    source: Source,
    watch: Watcher,
    force: bool = False,
) -> NextRows:
    """Writes the rows of a pool that are worth labelling next, with their predictions as suggestions.

    Raises UserError for a pool that cannot be read or has no row to label, for rows that the tool cannot label, and for
    an output that may not be written.
    """
    require_settings(options)
    record = load_record(folder.record_file)
    columns = {name: value for name, value in options.items() if name not in ("encoding", "sheet")}
    form = form_for(pool, predictor.layout, options, inputs=predictor.task.inputs)
    kind = known_type(predictor.task)
    sample = first_rows(pool, form, most=SAMPLE_ROWS)
    layout, notes = layout_for(kind, predictor.layout, sample, columns, inputs=predictor.task.inputs)
    target = _target(predictor, layout, output, tool_of(output, to), record)
    own = own_rows(folder, record, predictor.layout)
    require_replaceable_output(output, reads=[pool, *([own.path] if own else [])], force=force)
    texts, note = labelled_texts(record, predictor.task, predictor.layout, own, source)
    earlier, lost = earlier_texts(folder, record, source)
    texts += earlier
    notes += [each for each in (note, lost) if each]
    found = read_pool(
        predictor,
        layout,
        records(pool, form),
        labelled={pool_key(text) for text in texts},
        keep=(SPREAD_AMONG * SPARE * asked.rows, SPARE * asked.at_random),
        total=survey(pool, form)[0],
        seed=asked.seed,
        watch=watch,
    )
    _require_rows(pool, found)
    chosen = choose(predictor, found, asked)
    before = None if asked.new_only else own
    written = write_items(target, lambda: _items(target, predictor, chosen, before, layout))
    return NextRows(
        files=written,
        rows=found.rows,
        labelled=found.labelled,
        failed=found.failed,
        chosen=len(chosen),
        random=sum(why == RANDOM for _, why in chosen),
        before=0 if before is None else sum(1 for _ in before),
        exported=target.tool != TABLE,
        settings=target.settings() | ({"split": SPLIT} if before is not None and before.dev else {}),
        notes=[*reading_notes(pool, form), *notes, *_notes(found, chosen, asked)],
    )


def choose(predictor: Predictor, found: PoolRows, asked: AskedRows) -> list[tuple[PoolCandidate, str]]:
    """The rows with why each was chosen, in the order in which to label them."""
    different = len({one.key for one in (*found.at_random, *found.least_sure)})
    at_random = found.at_random[: round(asked.random * min(asked.rows, different))]
    taken = {one.key for one in at_random}
    rest = [one for one in found.least_sure if one.key not in taken]
    wanted = asked.rows - len(at_random)
    among = rest if all(one.confidence is None for one in rest) else rest[: SPREAD_AMONG * wanted]
    if MOST_SPREAD >= wanted > 0 and len(among) > wanted:
        doubts = np.array([one.doubt for one in among])
        among = [among[index] for index in spread(_vectors(predictor, among), doubts, wanted, seed=asked.seed)]
    among = among[:wanted]
    order = interleaved(range(len(among)), range(len(among), len(among) + len(at_random)))
    chosen = [*((one, UNSURE) for one in among), *((one, RANDOM) for one in at_random)]
    return [chosen[index] for index in order]


def _vectors(predictor: Predictor, some: Sequence[PoolCandidate]) -> np.ndarray:
    """What the head reads of each row `(rows, width)`: the mean over its words, windows and choices."""
    engine = predictor.torch_engine
    with plain_mode():
        sequences = Sequences(predictor.encoded([one.row for one in some]))
        layers = engine.model.backbone.layer_indices(pooled=engine.model.pooled)
        sums, counts = np.zeros((len(some), 0)), np.zeros((len(some), 1))
        for index, states in engine.hidden_states(sequences, layers):
            vector, row = states.mean(0).ravel(), sequences[index].row
            sums = sums if sums.size else np.zeros((len(some), len(vector)))
            sums[row] += vector
            counts[row] += 1
    return sums / np.maximum(counts, 1)


def _target(predictor: Predictor, layout: Layout, output: Path, tool: str, record: RunRecord) -> LabellingTarget:
    """How the rows are written: with the columns of training, if there were any."""
    kind = known_type(predictor.task)
    trained = predictor.layout or replace(layout, label=layout.label or ("label",))
    labelling = kind.labelling(predictor.task, trained)
    if labelling is None:
        raise UserError(f"{predictor.task.name}: {kind.name} rows have no labels to ask for", "Name another run")
    target = LabellingTarget(
        tool=tool, path=output, kind=kind, task=predictor.task, layout=trained, labelling=labelling, model=record.id
    )
    require_tool(target)
    return target


def _items(
    target: LabellingTarget,
    predictor: Predictor,
    chosen: Sequence[tuple[PoolCandidate, str]],
    before: OwnRows | None,
    layout: Layout,
) -> Iterator[Item]:
    """The chosen rows with their predictions, then those of the run before with their labels."""
    dev = None if before is None else before.dev
    renamed = dict(zip(layout.text, target.layout.text, strict=False))
    for one, why in chosen:
        facts: dict[str, Any] = {"chosen": why, "certainty": _rounded(one.confidence)}
        facts |= {SPLIT: "dev" if why == RANDOM else "train"} if dev else {}
        values = {renamed.get(name, name): cell for name, cell in one.record.values.items()}
        yield Item(values=values, row=one.row, answer=one.answer, labelled=False, facts=facts)
    for record, row in before or ():
        facts = {"chosen": LABELLED, "certainty": None}
        facts |= {SPLIT: "dev" if row.id in dev else "train"} if dev else {}
        (label,) = predictor.task.scoring.labels([row])
        yield Item(values=record.values, row=row, answer=label, labelled=True, facts=facts)


def _rounded(confidence: float | None) -> float | None:
    return None if confidence is None else round(confidence, 4)


def _require_rows(pool: Path, found: PoolRows) -> None:
    """Raises UserError where no row of the pool can be chosen."""
    if found.at_random or found.least_sure:
        return
    if found.labelled:
        raise UserError(f"{pool}: all {so_many(found.labelled)} were read by the run already", "Name other rows")
    raise UserError(f"{pool}: no row can be predicted: {found.unusable}", "Run `finetune check` to see why")


def _notes(found: PoolRows, chosen: Sequence[Any], asked: AskedRows) -> Iterator[str]:
    """What is not as it was asked."""
    if found.failed:
        left_out = f"{noun(found.failed, 'is', 'are')} left out: the first, {found.unusable}"
        yield f"{so_many(found.failed)} cannot be predicted, and {left_out}"
    if len(chosen) < asked.rows:
        yield f"only {so_many(len(chosen))} of the {asked.rows:,} asked for: the pool has no others"
    if chosen and all(one.confidence is None for one, _ in chosen):
        yield "predictions of this type have no confidence: rows are spread over the pool alone"

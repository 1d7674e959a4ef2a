"""Settings, facts, limits and use of a run."""

import os.path
from collections.abc import Iterator
from pathlib import Path

from finetune.analysis.label_errors import suspects
from finetune.analysis.limits import about_classes, about_labels, about_rows
from finetune.analysis.model_calls import architecture, example_inputs, transformers_code, usage
from finetune.analysis.temperature import temperature_of
from finetune.commands.report.blocks import Block, Code, TableBlock
from finetune.commands.report.run_files import RunFiles, view_of_run
from finetune.commands.report.text import value_text
from finetune.data.messages import noun, so_many
from finetune.runs.folder import RESULTS
from finetune.runs.lineage import lineage_words
from finetune.runs.recipe_diff import settings_of
from finetune.storage.stored import data_name_of
from finetune.task_types.marked_text import cut


def settings_block(*runs: RunFiles) -> Iterator[Block]:
    """Settings that differ from the defaults, the others folded; one column per run."""
    found = settings_of([run.record for run in runs])
    changed, others = (
        [[one.key, *map(value_text, (*one.values, one.default))] for one in found if one.changed == wanted]
        for wanted in (True, False)
    )
    columns = ["setting", *([run.record.id for run in runs] if len(runs) > 1 else ["this run"]), "default"]
    table = TableBlock(columns=columns, rows=changed, left=len(columns), folded=others)
    differ, do = noun(len(changed), "differs", "differ"), noun(len(others), "does", "do")
    note = f"{so_many(len(changed), 'setting')} {differ} from the defaults of a recipe, {len(others)} {do} not. "
    note += "The default is that of a recipe; for your own data finetune chooses some settings."
    yield Block(title="Settings", note=note, table=table, wide=len(runs) > 1)


def facts_block(run: RunFiles) -> Iterator[Block]:
    """A table of facts from the record."""
    record = run.record
    trained, every = record.trained_of_all
    facts = {
        "finished": record.finished,
        "model": f"{record.model} ({record.weights[:10]})",
        **lineage_words(record.lineage),
        "data": record.data[:10],
        **{
            f"rows of {split}": f"{count:,}, from {data_name_of(Path(record.data_origin.get(split, '')))}"
            for split, count in record.rows.items()
        },
        "options of the task": ", ".join(f"{name} {value_text(value)}" for name, value in record.options.items()),
        "device": f"{record.device}, {record.precision}, {so_many(record.processes, 'process')}",
        "training": f"{record.seconds.get('training', 0):,.0f} s, {record.examples_per_second:.1f} rows/s",
        "trained weights": f"{trained:,} of {every:,}" if every else "",
        "peak memory": f"{record.peak_memory_bytes / 2**30:.2f} GiB",
        "commit": record.git_commit or "",
        "versions": ", ".join(f"{name} {version}" for name, version in record.versions.items()),
    }
    rows = [[name, cut(text)] for name, text in facts.items() if text]
    yield Block(title="Facts", table=TableBlock(columns=["fact", "value"], rows=rows, left=2))


MOST_NOTES = 50  # notes


def limits_block(run: RunFiles) -> Iterator[Block]:
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
    if count := int(suspects(view, temperature_of(view)).sum()):
        share = 100 * count / len(view.lines)
        why = "whose label the model contradicts with high confidence" if view.bounded else "with a very large error"
        yield (
            f"{so_many(count)} of {split} ({share:.1f} %) {why}: either the label or the prediction is wrong; look at "
            "the possible label errors among the rows."
        )


def use_block(run: RunFiles) -> Iterator[Block]:
    """Commands and code with the run's id, that work in the folder that has the results; of a pre-training run with its
    encoder as the start of others.
    """
    out, model = results_named(run), run.folder.model
    inputs = example_inputs(next((lines[0] for lines in run.predictions.values() if lines), {}))
    command, python = usage(run.record, run.record.id, inputs, out=out if Path(out) != RESULTS else "")
    what = "to fine-tune it on labelled data" if run.record.is_pretraining else "for a file with the same columns"
    code = [Code(what=f"On the command line, {what}", text=command), Code(what="In Python", text=python)]
    if kind := architecture(model):
        folder = Path(out, *run.folder.path.parts[-2:], model.name)
        code.append(Code(what="With transformers alone", text=transformers_code(str(folder), kind, inputs)))
    missing = " The model's own folder was not there when this page was written: run it again first."
    note = f"In the folder that has {out}{os.sep}." + missing * (not (model / "config.json").is_file())
    yield Block(title="How to use this model", note=note, code=code)


def results_named(run: RunFiles) -> str:
    """The results folder from here; where that is above or elsewhere, its name: a page tells nothing of the machine."""
    found = Path(os.path.relpath(run.folder.path.parent.parent))
    return found.name if os.pardir in found.parts else str(found)

"""What a model answers and how it is called, and what it was made from: data, labels, settings, exports, versions."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from finetune.data.messages import percent, size_words, so_many
from finetune.inference.card.calls import quoted, transformers_code
from finetune.inference.card.described import DescribedRun
from finetune.inference.card.known_exports import KnownExport
from finetune.inference.card.markdown import bullets, card_table, code, code_block, section
from finetune.inference.card.metadata import ON_HUB
from finetune.runs.lineage import SEEDS, lineage_words
from finetune.runs.recipe_diff import settings_of
from finetune.runs.seeds import seed_words
from finetune.storage.stored import data_name_of
from finetune.task_types.types import data_types

MOST_LABELS = 60  # lines of the table of labels
NOT_SETTINGS = ("model", *SEEDS)
TASK_CHARS = 200  # of a path or a setting


def what_it_answers(run: DescribedRun) -> str:
    """What a prediction is, for which columns, of how many tokens at most."""
    record = run.told
    view = run.view
    kind = next((each for each in data_types().values() if view is not None and isinstance(view, each.view)), None)
    labels = dict.fromkeys(name for counts in record.labels.values() for name in counts)
    length = run.use.get("max_length")
    facts = {
        "Answers": "" if kind is None else kind.answers,
        "Labels": f"{len(labels):,}" if labels else "",
        "Reads": ", ".join(map(code, run.columns)),
        "At once": f"{length} tokens at most" if length else "",
        "Encoder": code(record.model),
        "Task": code(record.task),
        "Run": code(record.id),
    }
    return section("What it answers", _facts(facts))


def ways_to_call(run: DescribedRun) -> str:
    """Ways to call the model, each of which works as it is."""
    ending = Path(str(run.record.recipe["task"])).suffix or ".csv"
    name, inputs = run.name, run.inputs
    if run.record.is_pretraining:
        command = ["run", "YOURS.csv", f"model={name}"]
        python = f'import finetune\n\nrun = finetune.train("YOURS.csv", model={quoted(name)})\nprint(run)'
    else:
        command = ["predict", name, f"new{ending}", "-o", f"predictions{ending}"]
        python = f"import finetune\n\nmodel = finetune.load({quoted(name)})\nprint(model({inputs}))"
    alone = transformers_code(run.weights, run.architecture, inputs) if run.architecture else ""
    ways = {
        "In Python, with `pip install bert-finetune`": code_block(python, "python"),
        "On the command line, for a file with the same columns": code_block(_typed(*command), "bash"),
        "With transformers alone": alone and code_block(alone, "python"),
    }
    where = "" if run.on_hub else f"From the folder that has {code(name.split('/')[0])}:"
    parts = [f"{what}:\n\n{text}" for what, text in ways.items() if text]
    return section("How to call it", where, *parts, *(_export_call(run, one, ending) for one in run.exports))


def _export_call(run: DescribedRun, export: KnownExport, ending: str) -> str:
    """How an export is used, which on the Hub is a folder of the repository."""
    lines = [_typed("predict", export.name, f"new{ending}", "-o", f"predictions{ending}"), _typed("serve", export.name)]
    if run.on_hub:
        fetch = shlex.join(["hf", "download", run.name, "--include", f"{export.name}/*", "--local-dir", "."])
        lines = [fetch, *lines]
    return f"Without torch, by the export {code(export.name)}:\n\n{code_block(chr(10).join(lines), 'bash')}"


def exports(run: DescribedRun) -> str:
    """How the answers of each export compare with those of the run, on its dev rows."""
    lines = [[code(one.name), one.engine, size_words(one.size), *_check_cells(one)] for one in run.exports]
    heading = [
        "export",
        "engine",
        "size",
        "rows checked",
        "equal answers",
        "largest difference",
        "score, run and export",
    ]
    note = "The largest difference is of logits. Scores are in points, the run's in fp32." if lines else ""
    return section("Exports", card_table(heading, lines, left=2), note)


def _check_cells(export: KnownExport) -> list[str]:
    check = export.facts.check
    if check is None:
        return ["", "", "", ""]
    score = check.score
    both = "" if score is None else f"{score.metric} {score.run:.1f}, {score.export:.1f}"
    return [f"{check.rows:,}", f"{check.equal:,}", f"{check.largest_difference:.2g}", both]


def labels(run: DescribedRun) -> str:
    """How often each label occurs in each split, the most frequent ones."""
    counts = {split: found for split, found in run.told.labels.items() if found}
    names = list(dict.fromkeys(name for found in counts.values() for name in found))
    names.sort(key=lambda name: -max(found.get(name, 0) for found in counts.values()))
    lines = [[code(name), *(f"{found.get(name, 0):,}" for found in counts.values())] for name in names[:MOST_LABELS]]
    more = f"{len(names) - MOST_LABELS:,} more labels are left out." if len(names) > MOST_LABELS else ""
    return section("Labels", card_table(["label", *counts], lines), more)


def data(run: DescribedRun) -> str:
    """The rows of each split: where from, how many, and how many were truncated."""
    record = run.told
    lines = [
        [split, code(_name_of_data(record.data_origin.get(split, "")), TASK_CHARS), f"{count:,}",
         f"{record.features.get(split, 0):,}", percent(record.truncated.get(split, 0.0))]
        for split, count in record.rows.items()
    ]  # fmt: skip
    table = card_table(["split", "from", "rows", "token sequences", "rows truncated"], lines, left=2)
    return section("Data", table, f"Fingerprint of all rows: {code(record.data[:10])}.")


def training(run: DescribedRun) -> str:
    """Settings that differ from the defaults, seeds, device and versions."""
    record = run.told
    changed = [one for one in settings_of([record]) if one.changed and one.key not in NOT_SETTINGS]
    lines = [[code(one.key), code(_value(one.values[0]), TASK_CHARS), code(_value(one.default))] for one in changed]
    trained, every = record.trained_of_all
    facts = {
        **{name.capitalize(): words for name, words in lineage_words(record.lineage).items()},
        "Seed": seed_words(record).removeprefix("seed "),
        "Trained weights": f"{trained:,} of {every:,}" if every else "",
        "Device": f"{record.device}, {record.precision}, {so_many(record.processes, 'process')}",
        "Versions": ", ".join(f"{name} {version}" for name, version in record.versions.items()),
    }
    table = card_table(["setting", "value", "default"], lines, left=3)
    return section("Training", table, _facts(facts))


def _name_of_data(origin: str) -> str:
    """The name of a file without its folders, which are those of a machine; that of a data set of the Hub as it is."""
    return origin if ON_HUB.fullmatch(origin) else Path(data_name_of(Path(origin))).name


def _facts(facts: Mapping[str, str]) -> str:
    return bullets(f"{name}: {text}" for name, text in facts.items() if text)


def _value(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _typed(*words: str) -> str:
    return shlex.join(["finetune", *words])

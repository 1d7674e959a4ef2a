"""Tables of docs/ on pre-training: growth with updates, and the tables of recipes, from the records in results/."""

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import finetune
from finetune.analysis.table import Cells, markdown_table
from finetune.runs.record import RunRecord
from finetune.runs.seeds import paired, summarised

GROWTH_SEED = 42  # of the runs that measure growth; the tables' have 1, 2 and 3
PERPLEXITY = "perplexity"
RATE, SHARE = "tokens per word", "unknown tokens"  # of a vocabulary


def growth_table(records: Sequence[RunRecord]) -> str:
    """Runs of `pretrain` that differ in length, batch, share of masks and learning rate: perplexity on dev."""
    runs = [one for one in records if _measures_growth(one)]
    if not runs:
        return ""
    head = [
        "batch",
        "updates",
        "masked",
        "learning rate",
        "pieces read",
        "minutes",
        "perplexity",
        "nats per word",
        "masked accuracy",
    ]
    rows = [_growth(one) for one in sorted(runs, key=_by_length)]
    sizes = f"{runs[0].recipe['model']}, a vocabulary of {int(runs[0].recipe['tokenizer']):,}"
    note = f"{sizes}, one run each ({runs[0].device})."
    return "\n".join([markdown_table(head, rows), "", note])


def curve_table(records: Sequence[RunRecord]) -> str:
    """Nats per word on dev after each fifth of the longest run."""
    runs = [one for one in records if _measures_growth(one)]
    if not runs:
        return ""
    longest = min(runs, key=lambda one: (-one.recipe["train"]["updates"], _perplexity(one.scores["dev"])))
    _, updates = longest.scored_after
    head = ["updates", *(f"{update:,}" for update in updates[1::2])]
    nats = [f"{_nats(part['scores']['dev']):.2f}" for part in longest.epochs[1::2]]
    return markdown_table(head, [["nats per word", *nats]])


def speed_table(measured: dict[str, Any]) -> str:
    """Tokens a second next to run_mlm, and the share of masks and of padding."""
    models = {name: found for name, found in measured.items() if isinstance(found, dict) and "ratio" in found}
    head = ["model", "finetune, tokens/s", "run_mlm, tokens/s", "ratio", "masks, share of an update"]
    rows = [
        [name, *(f"{found['tokens_per_second'][one]:,.0f}" for one in ("finetune", "run_mlm")), f"{found['ratio']:.2f}",
         f"{100 * found['masks_share']:.1f} %"]
        for name, found in models.items()
    ]  # fmt: skip
    notes = [f"{100 * measured['padding_share']:.1f} % of a batch is padding."]
    settings = measured["settings"]
    notes.append(where(measured, f"Batches of {settings['batch_size']} x {settings['length']}, no dropout, fp32"))
    return "\n".join([markdown_table(head, rows), "", " ".join(notes)])


def vocabularies_table(measured: dict[str, Any]) -> str:
    """How vocabularies of several sizes split held-out documents of each text."""
    rows = list[Cells]()
    for text, found in measured["texts"].items():
        for name, splits in found.items():
            rows.append([text, name, f"{splits[RATE]:.2f}", f"{100 * splits[SHARE]:.2g} %"])
    head = ["text", "vocabulary", RATE, SHARE]
    return "\n".join([markdown_table(head, rows), "", f"{measured['date'][:10]}."])


def recipe_table(name: str, results: Path) -> str:
    """A table of a recipe as `finetune table` prints it, with its notes and the number of runs that are missing."""
    found = finetune.table(name, out=results)
    form = found.form()
    notes = [*form.notes, *[found.note] * bool(found.note)]
    return "\n".join([markdown_table(form.header, form.rows), "", " ".join(f"{note.rstrip('.')}." for note in notes)])


def korean_table(records: Sequence[RunRecord]) -> str:
    """Accuracy on NSMC's test rows of TF-IDF and of encoders, one of them pre-trained on the reviews; empty without."""
    runs = [one for one in records if one.task == "ratings_train.txt"]
    if not (helped := {one.recipe["seed"]: one for one in runs if one.lineage}):
        return ""
    systems = {
        "TF-IDF, logistic regression": [one.baselines["test"]["tfidf-logistic"]["accuracy"] for one in helped.values()],
        "new:mini, not pre-trained": _accuracies(runs, "new:mini"),
        "new:mini, pre-trained on the reviews": [_accuracy(one) for one in helped.values()],
        "minilm": _accuracies(runs, "minilm"),
    }
    metric = runs[0].metric("accuracy")
    rows = list[Cells]()
    for name, scores in systems.items():
        if scores:
            found = summarised(scores, metric)
            interval = " to ".join(map(metric.shown, found.interval or ()))
            rows.append([name, len(scores), metric.shown(found.mean), interval])
    without = {one.recipe["seed"]: one for one in runs if one.recipe["model"] == "new:mini"}
    pairs = [(_accuracy(without[seed]), _accuracy(helped[seed])) for seed in sorted(helped.keys() & without.keys())]
    notes = [_korean_note(records, next(iter(helped.values())))]
    if pairs and (change := paired(pairs, metric)).interval:
        low, high = map(metric.signed, change.interval)
        notes.append(
            f"Change by pre-training: {metric.signed(change.mean)} ({low} to {high}, {len(pairs)} pairs of one seed)."
        )
    return "\n".join([markdown_table(["", "runs", "test accuracy", "95 % interval"], rows), "", " ".join(notes)])


def _korean_note(records: Sequence[RunRecord], tuned: RunRecord) -> str:
    """How much text and how many rows the runs have seen, and how well the words were predicted."""
    first = [one for one in records if one.task == "ratings_train.txt-text"]
    minutes = statistics.fmean(one.seconds["total"] for one in first) / 60
    nats = statistics.fmean(_nats(one.scores["dev"]) for one in first)
    updates = first[0].recipe["train"]["updates"]
    return (
        f"Pre-training: {updates:,} updates, {minutes:.0f} minutes on one core, {nats:.1f} nats per word, "
        f"{len(first)} seeds. Fine-tuning: {tuned.rows['train']:,} reviews, "
        f"{tuned.recipe['train']['epochs']} epochs; {tuned.rows['test']:,} test rows."
    )


def _accuracies(runs: Sequence[RunRecord], model: str) -> list[float]:
    return [_accuracy(one) for one in runs if one.recipe["model"] == model]


def _accuracy(record: RunRecord) -> float:
    return record.scores["test"]["accuracy"]


def _measures_growth(record: RunRecord) -> bool:
    recipe = record.recipe
    return (
        record.task == "simplewiki"
        and recipe["model"] == "new:2x128"
        and recipe["seed"] == GROWTH_SEED
        and recipe["options"].get("objective") == "mlm"
    )


def _by_length(record: RunRecord) -> tuple[Any, ...]:
    train = record.recipe["train"]
    return train["batch_size"], train["updates"], record.options["mask_share"], train["learning_rate"]


def _growth(record: RunRecord) -> Cells:
    train, scores = record.recipe["train"], record.scores["dev"]
    perplexity = _perplexity(scores)
    return [
        train["batch_size"],
        f"{train['updates']:,}",
        f"{100 * record.options['mask_share']:.0f} %",
        f"{train['learning_rate']:g}",
        f"{train['batch_size'] * train['updates']:,}",
        f"{record.seconds['total'] / 60:.1f}",
        f"{perplexity:,.0f}",
        f"{_nats(scores):.2f}",
        f"{100 * scores['masked accuracy']:.1f} %",
    ]


def _perplexity(scores: dict[str, float]) -> float:
    return scores[PERPLEXITY]


def _nats(scores: dict[str, float]) -> float:
    return math.log(_perplexity(scores))


def where(measured: dict[str, Any], what: str) -> str:
    """What was measured, on which machine and when."""
    cpu = measured["cpu"]
    return f"{what}; {cpu['threads']} cores ({cpu['name']}), {measured['date'][:10]}."

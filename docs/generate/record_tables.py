"""Tables of README and docs/ made from the records of runs; `python docs/generate/pages.py --write` writes them.

Nothing is computed here but means and standard deviations.
"""

import statistics
import tomllib
from pathlib import Path
from typing import Any

from finetune.analysis.form import Cells, Form, markdown_table
from finetune.cli.console import Terminal
from finetune.cli.run_facts import print_verdicts
from finetune.cli.run_tables import print_record
from finetune.commands.table.declaration import load_table
from finetune.commands.table.forms import SIMPLE, paper_form, score_words
from finetune.commands.table.lines import lines_of
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.runs.seeds import summarised

DEMO_WIDTH = 96  # columns
GLUE = {"model": "minilm", "train": {"learning_rate": 2e-4}}
QUICKSTART = {"model": "minilm", "max_length": 64, "train": {"batch_size": 16, "epochs": 6, "learning_rate": 1e-4}}
SHAPES: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).parent / "shapes.toml").read_text(encoding="utf-8"))
HEADLINES = {"squad-v1": ("f1", "em"), "squad-v2": ("f1", "em")}
OWN_DATA = ("codah.csv", "wnut.jsonl", "sst2.csv.gz")
ABLATIONS = {"table-7": "CoNLL-2003, ", "ablation-linear": "", "stability": "1,000 rows of MRPC, "}
NAMES = {"mrpc": "MRPC", "cola": "CoLA", "stsb": "STS-B", "sst2": "SST-2", "rte": "RTE", "wnli": "WNLI"}


def settings_of(record: RunRecord) -> dict[str, Any]:
    """The settings that differ from the defaults, except task, seed and precision (all these runs are in fp32)."""
    recipe = Recipe.model_validate({key: value for key, value in record.recipe.items() if value is not None})
    settings = recipe.model_dump(exclude_defaults=True, exclude={"task", "seed"})
    settings.get("train", {}).pop("precision", None)
    return {key: value for key, value in settings.items() if value != {}}


def glue_table(records: list[RunRecord]) -> str:
    """One line per task and metric: our mean over seeds, next to the baselines of the same runs."""
    head, lines = ["task", "metric", "seeds", "fine-tuned", "TF-IDF", "majority or mean"], list[Cells]()
    for task, name in NAMES.items():
        runs = [record for record in records if record.task == task and "dev" in record.scores]
        for metric in runs[0].scores["dev"] if runs else ():
            given = {key: 100 * scores[metric] for key, scores in runs[0].baselines["dev"].items()}
            tfidf = next(score for key, score in given.items() if key.startswith("tfidf"))
            simple = next(score for key, score in given.items() if not key.startswith("tfidf"))
            fine_tuned = _mean_and_sd(runs, "dev", metric)
            lines.append([name, metric, len(runs), fine_tuned, f"{tfidf:.1f}", f"{simple:.1f}"])
    return markdown_table(head, lines)


def short_glue_table(records: list[RunRecord]) -> str:
    """The rows of the next table that have its last average, without the weaker baseline."""
    form = _glue_form(records)
    return markdown_table(form.header, [row for row in form.rows if row[-1] and row[1] != SIMPLE])


def whole_glue_table(records: list[RunRecord]) -> str:
    """GLUE in the form of the paper's Table 1, as `finetune table glue` prints it, with its notes."""
    form = _glue_form(records)
    notes = (f"{note.rstrip('.')}." for note in form.notes)
    return f"{markdown_table(form.header, form.rows)}\n\n{' '.join(notes)}"


def _glue_form(records: list[RunRecord]) -> Form:
    table = load_table("glue")
    return paper_form(table, lines_of(table, records))


def shapes_table(records: list[RunRecord], rates: dict[str, Any]) -> str:
    """One line per setting of SHAPES: the mean of its runs on dev and test, the best baseline, the training rate."""
    head, lines = ["what", "score", "runs", "dev", "baseline", "test", "baseline", "rows/s in training"], list[Cells]()
    for name, shape in SHAPES.items():
        runs = _runs_of(records, **shape)
        for metric in HEADLINES.get(shape["task"], (runs[0].headline,) if runs else ()):
            cells = [name, metric, str(len(runs))]
            cells += [*_ours_and_best(runs, "dev", metric), *_ours_and_best(runs, "test", metric)]
            rate = rates.get(name, {}).get("rows_per_second")
            lines.append([*cells, "" if rate is None else f"{rate:.0f}"])
    return markdown_table(head, lines)


def _runs_of(records: list[RunRecord], task: str, settings: dict[str, Any]) -> list[RunRecord]:
    return [run for run in records if run.task == task and _without_fold(run) == settings]


def _ours_and_best(runs: list[RunRecord], split: str, metric: str) -> tuple[str, str]:
    """Mean and standard deviation of the runs, and mean of their best baselines; empty without such a split."""
    scored = [run for run in runs if split in run.scores]
    if not scored:
        return "", ""
    best = [100 * each for run in scored if (each := run.best_baseline(split, metric)) is not None]
    return _mean_and_sd(scored, split, metric), f"{statistics.fmean(best):.1f}"


def _mean_and_sd(runs: list[RunRecord], split: str, metric: str) -> str:
    kind = runs[0].metric(metric)
    return score_words(summarised([run.scores[split][metric] for run in runs], kind), kind)


def _without_fold(record: RunRecord) -> dict[str, Any]:
    """A run's settings without the fold; folds are averaged like seeds."""
    settings = settings_of(record)
    options = {name: value for name, value in settings.get("options", {}).items() if name != "fold"}
    return {key: value for key, value in settings.items() if key != "options"} | (
        {"options": options} if options else {}
    )


def demo_blocks(records: list[RunRecord]) -> dict[str, str]:
    """What the demo prints at its end, and its figures in sentences."""
    run = next(record for record in records if record.task == "paraphrase" and record.recipe["seed"] == 42)
    console = Terminal()
    console.width = DEMO_WIDTH
    with console.capture() as printed:
        print_record(console, run)
        console.print()
        print_verdicts(console, [run])
    score, baseline = run.scores["dev"]["accuracy"], run.best_baseline("dev", "accuracy") or 0.0
    lines = [line.rstrip() for line in printed.get().splitlines()]
    return {
        "demo": "\n".join(["```text", *lines, "```"]),
        "demo-accuracy": f"{100 * score:.1f}",
        "demo-gain": f"{100 * (score - baseline):.1f}",
        "demo-machine": run.device,
    }


def own_data_table(records: list[RunRecord]) -> str:
    """Scores of `finetune run FILE` without options."""
    head, lines = ["file", "rows", "score on dev", "ours", "best baseline"], list[Cells]()
    for name in OWN_DATA:
        for run in (record for record in records if record.task == name):
            metric = run.metric(run.headline)
            ours, best = metric.shown(run.scores["dev"][metric.name]), run.best_baseline("dev", metric.name)
            rows = sum(run.rows.values())
            lines.append([name, f"{rows:,}", metric.name, ours, "" if best is None else metric.shown(best)])
    return markdown_table(head, lines)


def ablations_table(records: list[RunRecord]) -> str:
    """Our lines of the ablation tables in results/tables, which list the runs of each line."""
    head, lines = ["what", "score", "runs", "failed", "dev", "test"], list[Cells]()
    for table, title in ABLATIONS.items():
        for line in lines_of(load_table(table), records):
            if line.dev is not None:
                fails = "" if line.failed is None else str(line.failed)
                cells = [f"{title}{line.row.name}", line.metric.name, str(line.dev.n), fails]
                cells += [score_words(each, line.metric) for each in (line.dev, line.test)]
                lines.append(cells)
    return markdown_table(head, lines)

"""Tables and figures of committed runs: rows that tables.toml names, and tables as `finetune table` prints them."""

import tomllib
from collections.abc import Iterator, Sequence
from itertools import product
from statistics import fmean
from typing import Any

from tables import FOLDER, Row, RowsFunction, read

from finetune.analysis.published import anchors
from finetune.analysis.run_facts import verdict_lines
from finetune.analysis.run_tables import record_parts
from finetune.analysis.table import TextTable, markdown_table
from finetune.cli.console import Terminal
from finetune.cli.next_commands import GivenOptions
from finetune.cli.printing import TerminalFront
from finetune.commands.table.declaration import load_table
from finetune.commands.table.forms import SIMPLE, paper_form, score_words
from finetune.commands.table.lines import lines_of
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.runs.seeds import summarised

Runs = Sequence[RunRecord]
DEMO_WIDTH = 96  # columns
GLUE = {"model": "minilm", "train": {"learning_rate": 2e-4}}
QUICKSTART = {"model": "minilm", "max_length": 64, "train": {"batch_size": 16, "epochs": 6, "learning_rate": 1e-4}}
SHAPES: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "shapes.toml").read_text(encoding="utf-8"))
OWN_DATA = ("codah.csv", "wnut.jsonl", "sst2.csv.gz")
ABLATIONS = {"table-7": "CoNLL-2003, ", "ablation-linear": "", "stability": "1,000 rows of MRPC, "}
GLUE_NAMES = {"mrpc": "MRPC", "cola": "CoLA", "stsb": "STS-B", "sst2": "SST-2", "rte": "RTE", "wnli": "WNLI"}
PUBLISHED = {  # split and metrics of each column
    "nsmc": ("test", ["accuracy"]),
    "naver-ner": ("test", ["f1"]),
    "kornli": ("test", ["accuracy"]),
    "korsts": ("test", ["spearman"]),
    "korquad": ("dev", ["em", "f1"]),
}


def settings_of(run: RunRecord) -> dict[str, Any]:
    """The settings that differ from the defaults, except task, seed, precision and fold (folds are like seeds)."""
    recipe = Recipe.model_validate({key: value for key, value in run.recipe.items() if value is not None})
    settings = recipe.model_dump(exclude_defaults=True, exclude={"task", "seed"})
    settings.get("train", {}).pop("precision", None)
    settings.get("options", {}).pop("fold", None)
    return {key: value for key, value in settings.items() if value != {}}


def glue(runs: Runs) -> Iterator[Row]:
    """Our mean over seeds of each metric, next to the baselines of the same runs."""
    for task, name in GLUE_NAMES.items():
        ours = [run for run in runs if run.task == task and settings_of(run) == GLUE and "dev" in run.scores]
        for metric in ours[0].scores["dev"] if ours else ():
            scores = {key.partition("-")[0]: values[metric] for key, values in ours[0].baselines["dev"].items()}
            tfidf = scores.pop("tfidf")
            (simple,) = scores.values()
            row = {"task": name, "metric": metric, "runs": len(ours), "score": _mean(ours, "dev", metric)}
            yield row | {"tfidf": tfidf, "simple": simple}


def shapes(runs: Runs) -> Iterator[Row]:
    """The mean of the runs of each setting of shapes.toml on dev and test, and their best baseline."""
    rates = read("rates")["rates"]
    for name, shape in SHAPES.items():
        ours = [run for run in runs if run.task == shape["task"] and settings_of(run) == shape["settings"]]
        metrics = ("f1", "em") if shape["task"].startswith("squad") else (ours[0].headline,)
        for metric in metrics:
            row = {"what": name, "metric": metric, "runs": len(ours), "rate": rates[name]["rows_per_second"]}
            for split in ("dev", "test"):
                scored = [run for run in ours if split in run.scores]
                best = [run.best_baseline(split, metric) or 0.0 for run in scored]
                row[split] = _mean(scored, split, metric)
                row[f"{split}_baseline"] = fmean(best) if best else None
            yield row


def _mean(runs: Runs, split: str, metric: str) -> str:
    if not runs:
        return ""
    kind = runs[0].metric(metric)
    return score_words(summarised([run.scores[split][metric] for run in runs], kind), kind)


def own_data(runs: Runs) -> Iterator[Row]:
    """Scores of `finetune run FILE` without options."""
    for file, run in product(OWN_DATA, runs):
        if run.task == file:
            name = run.headline
            scores = {"score": run.scores["dev"][name], "baseline": run.best_baseline("dev", name)}
            yield {"file": file, "rows": sum(run.rows.values()), "metric": name} | scores


def ablations(runs: Runs) -> Iterator[Row]:
    """Our lines of the ablation tables in results/tables, which list the runs of each line."""
    for name, title in ABLATIONS.items():
        for line in lines_of(load_table(name), runs):
            if line.dev is not None:
                scores = {"dev": score_words(line.dev, line.metric), "test": score_words(line.test, line.metric)}
                row = {"what": f"{title}{line.row.name}", "metric": line.metric.name, "runs": line.dev.n}
                yield row | scores | {"failed": line.failed}


def korean_published(_: Runs) -> Iterator[Row]:
    """Published scores, a row for each encoder and source, the best of each column in bold."""
    columns = {
        task: [anchor for anchor in anchors(task=task) if anchor.split == split]
        for task, (split, _) in PUBLISHED.items()
    }
    systems = dict.fromkeys((anchor.model, anchor.source) for column in columns.values() for anchor in column)
    sources = list(dict.fromkeys(source for _, source in systems))
    note = " ".join(f"[{number}] {source}." for number, source in enumerate(sources, start=1))
    for system in systems:
        row = {"system": f"{system[0]} [{sources.index(system[1]) + 1}]", "sources": note}
        for task, column in columns.items():
            scores = {anchor.metric: anchor.score for anchor in column if (anchor.model, anchor.source) == system}
            texts = list[str]()
            for metric in PUBLISHED[task][1]:
                if metric in scores:
                    best = max(anchor.score for anchor in column if anchor.metric == metric)
                    bold = "**" * (scores[metric] == best)
                    texts.append(f"{bold}{100 * scores[metric]:.2f}{bold}")
            row[task] = " / ".join(texts)
        yield row


def glue_tables(runs: Runs) -> dict[str, str]:
    """GLUE in the form of the paper's Table 1 with its notes, and its rows that have the last average."""
    declared = load_table("glue")
    form = paper_form(declared, lines_of(declared, runs))
    short = [row for row in form.rows if row[-1] and row[1] != SIMPLE]
    return {"glue": markdown_table(form.columns, short), "glue-sources": _with_notes(form)}


def _with_notes(form: TextTable, *notes: str) -> str:
    text = " ".join(f"{note.rstrip('.')}." for note in (*form.notes, *notes))
    return f"{markdown_table(form.columns, form.rows)}\n\n{text}"


def demo(runs: Runs) -> dict[str, str]:
    """What the demo prints at its end, and its figures in sentences."""
    run = next(
        run for run in runs if run.task == "paraphrase" and run.recipe["seed"] == 42 and settings_of(run) == QUICKSTART
    )
    console = Terminal()
    console.width = DEMO_WIDTH
    front = TerminalFront(given=GivenOptions(), quiet=True)
    with console.capture() as printed:
        front.print(record_parts(run), console)
        console.print()
        front.print(verdict_lines([run]), console)
    score, baseline = run.scores["dev"]["accuracy"], run.best_baseline("dev", "accuracy") or 0.0
    lines = [line.rstrip() for line in printed.get().splitlines()]
    return {
        "demo": "\n".join(["```text", *lines, "```"]),
        "demo-accuracy": f"{100 * score:.1f}",
        "demo-gain": f"{100 * (score - baseline):.1f}",
        "demo-machine": run.device,
    }


FUNCTIONS: dict[str, RowsFunction] = {
    function.__name__: function for function in (glue, shapes, own_data, ablations, korean_published)
}

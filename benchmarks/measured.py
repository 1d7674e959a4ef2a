"""Prints the generated tables of the READMEs and docs/, from results/; with --write, writes them into those pages.

A page holds a table between `<!-- name -->` and `<!-- /name -->`, or a list between the same within a line (a line
that begins with one would be HTML). Nothing is computed here but means and standard deviations.
"""

import json
import re
import statistics
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import declared
import reference
from memory_chart import memory_chart

from finetune.analysis.paper_form import SIMPLE, paper_form
from finetune.analysis.paper_table import lines_of, load_table
from finetune.analysis.paper_table_formats import Form, markdown_rows, score_words
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord, all_records

ROOT = Path(__file__).resolve().parents[1]
GLUE = {"model": "minilm", "train": {"learning_rate": 2e-4}}
QUICKSTART = {"model": "minilm", "max_length": 64, "train": {"batch_size": 16, "epochs": 6, "learning_rate": 1e-4}}
CONLL = {"model": "minilm", "max_length": 512, "train": {"batch_size": 2, "learning_rate": 2e-4}}
SQUAD = {"model": "minilm", "max_length": 384, "train": {"batch_size": 16, "epochs": 2, "learning_rate": 2e-4}}
CODAH = {"model": "minilm", "train": {"batch_size": 16, "learning_rate": 1e-4}}
SHAPES: list[tuple[str, str, dict[str, Any]]] = [
    ("CoNLL-2003, single sentences", "conll-2003", GLUE | {"options": {"context": "sentence"}}),
    ("CoNLL-2003, documents", "conll-2003", CONLL | {"options": {"context": "document"}}),
    ("WNUT-17", "wnut-17", GLUE),
    ("SQuAD 1.1 by article", "squad-v1", SQUAD),
    ("SQuAD 2.0 by article", "squad-v2", SQUAD),
    ("CODAH, five folds", "codah", CODAH),
]
HEADLINES = {"squad-v1": ("f1", "em"), "squad-v2": ("f1", "em")}
OWN_DATA = ("codah.csv", "wnut.jsonl", "sst2.csv.gz")
ABLATIONS = {"table-7": "CoNLL-2003, ", "ablation-linear": "", "stability": "1,000 rows of MRPC, "}
NAMES = {"mrpc": "MRPC", "cola": "CoLA", "stsb": "STS-B", "sst2": "SST-2", "rte": "RTE", "wnli": "WNLI"}
UNCACHED = "anew"  # its key in saved results


def settings_of(record: RunRecord) -> dict[str, Any]:
    """The settings that differ from the defaults, except task, seed and precision (all these runs are in fp32)."""
    recipe = Recipe.model_validate({key: value for key, value in record.recipe.items() if value is not None})
    settings = recipe.model_dump(exclude_defaults=True, exclude={"task", "seed"})
    settings.get("train", {}).pop("precision", None)
    return {key: value for key, value in settings.items() if value != {}}


def glue_table(records: list[RunRecord]) -> str:
    """One line per task and metric: our mean over seeds, next to the baselines of the same runs."""
    lines = ["| task | metric | seeds | fine-tuned | TF-IDF | majority or mean |", "|---|---|---|---|---|---|"]
    for task, name in NAMES.items():
        runs = [record for record in records if record.task == task and "dev" in record.scores]
        for metric in runs[0].scores["dev"] if runs else ():
            ours = [100 * run.scores["dev"][metric] for run in runs]
            spread = f" ± {statistics.stdev(ours):.1f}" if len(ours) > 1 else ""
            given = {key: 100 * scores[metric] for key, scores in runs[0].baselines["dev"].items()}
            tfidf = next(score for key, score in given.items() if key.startswith("tfidf"))
            simple = next(score for key, score in given.items() if not key.startswith("tfidf"))
            fine_tuned = f"{statistics.fmean(ours):.1f}{spread}"
            lines.append(f"| {name} | {metric} | {len(runs)} | {fine_tuned} | {tfidf:.1f} | {simple:.1f} |")
    return "\n".join(lines)


def short_glue_table(records: list[RunRecord]) -> str:
    """The rows of the next table that have its last average, without the weaker baseline."""
    form = _glue_form(records)
    return markdown_rows(replace(form, rows=[row for row in form.rows if row[-1] and row[1] != SIMPLE]))


def whole_glue_table(records: list[RunRecord]) -> str:
    """GLUE in the form of the paper's Table 1, as `finetune table glue` prints it, with its notes."""
    form = _glue_form(records)
    notes = (f"{note.rstrip('.')}." for note in form.notes)
    return f"{markdown_rows(form)}\n\n{' '.join(notes)}"


def _glue_form(records: list[RunRecord]) -> Form:
    table = load_table("glue")
    return paper_form(table, lines_of(table, records))


def headlines_table(records: list[RunRecord]) -> str:
    """One line per task but GLUE's: the first metric on dev, next to the best baseline of the same runs."""
    lines = ["| task | metric | runs | fine-tuned | best baseline |", "|---|---|---|---|---|"]
    for name, task, settings in SHAPES:
        if runs := _runs_of(records, task, settings):
            metric = runs[0].headline
            lines.append(f"| {' | '.join([name, metric, str(len(runs)), *_ours_and_best(runs, 'dev', metric)])} |")
    return "\n".join(lines)


def shapes_table(records: list[RunRecord], rates: dict[str, Any]) -> str:
    """One line per setting of SHAPES: the mean of its runs on dev and test, the best baseline, the training rate."""
    lines = [
        "| what | score | runs | dev | baseline | test | baseline | rows/s in training |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, task, settings in SHAPES:
        runs = _runs_of(records, task, settings)
        for metric in HEADLINES.get(task, (runs[0].headline,) if runs else ()):
            cells = [name, metric, str(len(runs))]
            cells += [*_ours_and_best(runs, "dev", metric), *_ours_and_best(runs, "test", metric)]
            rate = rates.get(name, {}).get("rows_per_second")
            lines.append(f"| {' | '.join([*cells, '' if rate is None else f'{rate:.0f}'])} |")
    return "\n".join(lines)


def spans_table(measured: dict[str, Any]) -> str:
    """Seconds of each implementation of post-processing."""
    lines = ["| post-processing | seconds (median) | lowest to highest | ours is |", "|---|---|---|---|"]
    for name, seconds in measured["seconds"].items():
        spread = f"{min(seconds):.1f} to {max(seconds):.1f}"
        ratio = measured["times as fast"].get(name)
        faster = "" if ratio is None else f"{ratio:.1f} times as fast"
        lines.append(f"| {name} | {statistics.median(seconds):.1f} | {spread} | {faster} |")
    return "\n".join(
        [
            *lines,
            "",
            f"{measured['questions']:,} questions in {measured['windows']:,} windows; "
            f"{100 * measured['equal answers']:.2f} % of the answers are equal (ours takes a token from the window "
            f"where it has most context), and encoding took {measured['featurising seconds']:.1f} s.",
        ]
    )


def _runs_of(records: list[RunRecord], task: str, settings: dict[str, Any]) -> list[RunRecord]:
    return [run for run in records if run.task == task and _without_fold(run) == settings]


def _ours_and_best(runs: list[RunRecord], split: str, metric: str) -> tuple[str, str]:
    """Mean and standard deviation of the runs, and mean of their best baselines; empty without such a split."""
    scored = [run for run in runs if split in run.scores]
    if not scored:
        return "", ""
    ours = [100 * run.scores[split][metric] for run in scored]
    best = [100 * max(given[metric] for given in run.baselines[split].values()) for run in scored]
    spread = f" ± {statistics.stdev(ours):.1f}" if len(ours) > 1 else ""
    return f"{statistics.fmean(ours):.1f}{spread}", f"{statistics.fmean(best):.1f}"


def _without_fold(record: RunRecord) -> dict[str, Any]:
    """A run's settings without the fold; folds are averaged like seeds."""
    settings = settings_of(record)
    options = {name: value for name, value in settings.get("options", {}).items() if name != "fold"}
    return {key: value for key, value in settings.items() if key != "options"} | (
        {"options": options} if options else {}
    )


def demo_table(records: list[RunRecord]) -> str:
    """The output of the demo."""
    run = next(record for record in records if record.task == "paraphrase" and record.recipe["seed"] == 42)
    rows = {"this run": run.scores["dev"], **run.baselines["dev"]}
    width = max(map(len, rows))
    lines = [f"{'dev':<{width}}  " + "  ".join(f"{metric:>8}" for metric in run.scores["dev"])]
    lines += [
        f"{name:<{width}}  " + "  ".join(f"{100 * v:8.1f}" for v in scores.values()) for name, scores in rows.items()
    ]
    return "```\n" + "\n".join(lines) + "\n```"


def speed_table(*runs: dict[str, Any]) -> str:
    """Training rates of each benchmark run, and our speed-up in the same run."""
    lines = ["| training on MRPC | examples/s (median) | lowest to highest | ours is |", "|---|---|---|---|"]
    for measured in runs:
        ratios = measured["ratios"]["finetune / this"]
        for name, found in measured["measurements"].items():
            rates = [each["examples_per_second"] for each in found]
            ratio = f"{ratios[name]['examples']:.2f} times as fast" if name in ratios else ""
            spread = f"{min(rates):.1f} to {max(rates):.1f}"
            lines.append(f"| {name} | {statistics.median(rates):.1f} | {spread} | {ratio} |")
    return "\n".join(lines)


def own_data_table(records: list[RunRecord], check: dict[str, Any], predict: list[dict[str, Any]]) -> str:
    """Scores of `finetune run FILE` without options; then speed and memory of check and predict."""
    lines = ["| file | rows | score on dev | ours | best baseline |", "|---|---|---|---|---|"]
    for name in OWN_DATA:
        for run in (record for record in records if record.task == name):
            ours = 100 * run.scores["dev"][run.headline]
            best = 100 * max(given[run.headline] for given in run.baselines["dev"].values())
            rows = sum(run.rows.values())
            lines.append(f"| {name} | {rows:,} | {run.headline} | {ours:.1f} | {best:.1f} |")
    lines += ["", "| command | rows | time | rows/s | most memory |", "|---|---|---|---|---|"]
    speeds = [("check", check["rows"], check["seconds"], check["peak_gigabytes"])]
    speeds += [
        (f"predict, {each['encoder']}", each["rows"], each["seconds"], each["peak_memory_bytes"] / 1e9)
        for each in predict
    ]
    for name, rows, seconds, memory in speeds:
        lines.append(f"| {name} | {rows:,} | {seconds:.0f} s | {rows / seconds:,.0f} | {memory:.2f} GB |")
    return "\n".join(lines)


def cached_table(measured: dict[str, Any]) -> str:
    """Seconds of an epoch on a frozen encoder, without and with the cache; effect of the cache on scores and memory."""
    lines = ["| one epoch of | features | encoded each time | from the cache | ratio |", "|---|---|---|---|---|"]
    for name, found in measured["epochs"].items():
        encoded, cached = (f"{statistics.median(found[kind]):.2f} s" for kind in (UNCACHED, "cached"))
        lines.append(f"| {name} | {found['features']:,} | {encoded} | {cached} | {found['times as fast']:.1f} |")
    scores, memory = measured["scores"], measured["memory"]
    apart = max(abs(a - b) for a, b in zip(scores[UNCACHED]["losses"], scores["cached"]["losses"], strict=True))
    f1 = {kind: f"{100 * scores[kind]['f1']:.2f}" for kind in scores}
    grown = (memory["memory after an epoch"] - memory["memory before"]) / 1e6
    lines += [
        "",
        f"Half precision, on 2,000 sentences of CoNLL-2003 with a linear head over three epochs: F1 {f1['cached']} "
        f"from the cache and {f1[UNCACHED]} without it, losses at most {apart:.1g} apart. An epoch over a cache of "
        f"{memory['cache bytes'] / 1e6:.0f} MB added {grown:.0f} MB to what the process holds.",
    ]
    return "\n".join(lines)


def ablations_table(records: list[RunRecord]) -> str:
    """Our lines of the ablation tables in results/tables, which list the runs of each line."""
    lines = ["| what | score | runs | failed | dev | test |", "|---|---|---|---|---|---|"]
    for table, title in ABLATIONS.items():
        for line in lines_of(load_table(table), records):
            if line.dev is not None:
                fails = "" if line.failed is None else str(line.failed)
                cells = [f"{title}{line.name}", line.metric.name, str(line.dev.n), fails]
                cells += [score_words(each, line.metric) for each in (line.dev, line.test)]
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def false_positives_table(measured: dict[str, Any]) -> str:
    """False positive rates of `compare`."""
    seeds = list(next(iter(measured["bootstrap"].values())))
    lines = [f"| metric | {' | '.join(seeds)} |", "|---" * (len(seeds) + 1) + "|"]
    for name, found in measured["bootstrap"].items():
        lines.append(f"| {name} | {' | '.join(f'{100 * found[each]:.1f} %' for each in seeds)} |")
    exact = 100 * measured["McNemar, 1 seed"]
    lines += [
        "",
        f"{measured['trials']:,} simulations each, {measured['rows']} rows; McNemar's exact test: {exact:.1f} %.",
    ]
    return "\n".join(lines)


def reliability_table(measured: dict[str, Any]) -> str:
    """Faults of each kind: tried, survived and what was lost; then the totals."""
    lines = ["| kind of fault | tried | survived | lost | minutes |", "|---|---|---|---|---|"]
    for found in measured["kinds"]:
        lost = ", ".join(found["lost"]) or "nothing"
        counts = f"{found['tried']:,} | {found['survived']:,}"
        lines.append(f"| {found['kind']} | {counts} | {lost} | {found['seconds'] / 60:.0f} |")
    skipped = [f"Not tried: {what} ({why})." for what, why in measured["skipped"].items()]
    machine, minutes, (done, parts) = measured["machine"], measured["seconds"] / 60, measured["parts"]
    part = "" if done == parts else f" ({done} of the {parts} parts of `make chaos`)"
    total = (
        f"{measured['kills']:,} kills and {measured['faults']:,} other faults{part} in {minutes:.0f} minutes "
        f"on {machine['cores']} cores ({machine['cpu']}), torch {measured['versions']['torch']}, seed "
        f"{measured['seed']}, {measured['date'][:10]}."
    )
    return "\n".join([*lines, "", " ".join([total, *skipped])])


def reliability_figures(figures: dict[str, Any]) -> str:
    """Measured times and shares, mean and most."""
    lines = ["| measured | mean | most | times |", "|---|---|---|---|"]
    for name, found in sorted(figures.items()):
        mean, most = (
            f"{100 * found[key]:.2f} %" if "share" in name else f"{found[key]:.2f}" for key in ("mean", "most")
        )
        lines.append(f"| {name} | {mean} | {most} | {found['count']:,} |")
    return "\n".join(lines)


def memory_table(measured: dict[str, Any]) -> str:
    """Memory of a run by rows, and the seconds until it trains."""
    lines = [
        "| rows | file | most memory | beyond the smallest run | seconds until it trains | the second time |",
        "|---|---|---|---|---|---|",
    ]
    for run in measured["runs"]:
        sizes = (run[f"{name}_megabytes"] for name in ("file", "peak", "beyond_the_model"))
        times = (f"{run['seconds_to_training'][name]:.1f}" for name in ("first", "second"))
        lines.append(f"| {run['rows']:,} | {' | '.join([*(f'{size:,.0f} MB' for size in sizes), *times])} |")
    return "\n".join(lines)


@cache
def blocks() -> dict[str, str]:
    """Every generated block, by marker."""
    every = all_records(ROOT / "results")
    records = [record for record in every if settings_of(record) in (GLUE, QUICKSTART)]
    speed = [_benchmark(name) for name in ("against_trainer.json", "against_trainer_bf16.json")]
    return (
        declared.blocks()
        | reference.blocks()
        | {
            "demo": demo_table(records),
            "glue": short_glue_table(every),
            "glue-sources": whole_glue_table(every),
            "headlines": headlines_table(every),
            "measured": glue_table(records),
            "shapes": shapes_table(every, _benchmark("rates.json")["rates"]),
            "spans": spans_table(_benchmark("squad_postprocessing.json")),
            "speed": speed_table(*speed),
            "ablations": ablations_table(every),
            "cached": cached_table(_benchmark("cached_epochs.json")),
            "memory-by-rows": memory_table(_benchmark("memory_by_rows.json")),
            "reliability": reliability_table(_benchmark("reliability.json")),
            "reliability-figures": reliability_figures(_benchmark("reliability.json")["figures"]),
            "false-positives": false_positives_table(_benchmark("false_positives.json")),
            "measured-data": own_data_table(
                every,
                _benchmark("check_speed.json"),
                [_benchmark(file.name) for file in sorted((ROOT / "results" / "benchmarks").glob("predict_*.json"))],
            ),
        }
    )


def _benchmark(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "results" / "benchmarks" / name).read_text())  # type: ignore[no-any-return]


def filled(text: str) -> str:
    """A document with every block generated again."""
    for marker, block in blocks().items():
        pattern = rf"(<!-- {marker} -->(\n?)).*?(<!-- /{marker} -->)"
        literal = block.replace("\\", r"\\")
        text = re.sub(pattern, rf"\g<1>{literal}\g<2>\g<3>", text, flags=re.S)
    return text


if __name__ == "__main__":
    if "--write" in sys.argv:
        chart = memory_chart(_benchmark("memory_by_rows.json"))
        (ROOT / "docs" / "explanation" / "memory-by-rows.svg").write_text(chart, encoding="utf-8")
    for document in (*ROOT.glob("README*.md"), *(ROOT / "docs").rglob("*.md")):
        if "--write" in sys.argv:
            document.write_text(filled(document.read_text(encoding="utf-8")), encoding="utf-8")
    print("\n\n".join(blocks().values()))

"""Rows of the tables of measurements: functions that tables.toml names, of files of results/benchmarks/ as they are."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median, stdev
from typing import Any

from scipy.stats import t as student
from tables import TEXT, Row, RowsFunction, grouped, nested, pooled

from finetune.data.messages import percent
from finetune.models.families import FAMILIES

File = dict[str, Any]
PIPELINES = {
    "pipeline": "one row at a time, the default",
    "pipeline, sorted batches": "batches of 32 rows sorted by length",
}
ENGINES = ("torch fp32", "torch bf16", "onnx fp32", "onnx int8, 7 bits")
EXPORT_FIGURES = ("rows/s", "p50 ms", "p99 ms", "start s", "memory MB")
TAUGHT = ("teacher", "student", "student without a teacher")
METHODS = {  # key in records of few rows: column
    "finetune": "default",
    "tfidf-logistic": "TF-IDF",
    "tfidf-ridge": "TF-IDF",
    "most-frequent-tag": "TF-IDF",
    "linear-probe": "linear probe",
    "SetFit": "SetFit",
}


def training_rates(*files: File) -> Iterator[Row]:
    """Rates of each program, and how many times as fast finetune is."""
    for file in files:
        ratios = file["ratios"]["finetune / this"]
        for name, rounds in file["measurements"].items():
            ratio = ratios[name]["examples"] if name in ratios else None
            yield {"name": name, "rates": pooled(rounds)["examples_per_second"], "ratio": ratio}


def pipeline_rates(file: File) -> Iterator[Row]:
    """Rates of prediction next to each way to call transformers' pipeline, by precision."""
    apart = max(file["largest_difference_of_a_probability"].values())
    for name, title in PIPELINES.items():
        rates = {
            precision: {"ours": rates["finetune"], "theirs": rates[name], "ratio": rates["finetune"] / rates[name]}
            for precision, rates in file["median_rows_per_second"].items()
        }
        yield {"name": title, "apart": apart} | rates


def family_rates(file: File) -> Iterator[Row]:
    """Rates of training and prediction of each family by precision, and which parts of its layers are functions."""
    for name, family in FAMILIES.items():
        runs = {(run["precision"], run["what"]): run for run in file["runs"] if run["family"] == name}
        parts = [run["as_functions"] for run in runs.values() if "as_functions" in run]
        if runs:
            row: dict[str, Any] = {
                "family": family.title,
                "functions": (" and ".join(parts[0]) or "none") if parts else "",
            }
            for precision in ("fp32", "bf16"):
                programs = [runs.get((precision, program)) for program in ("finetune", "Trainer")]
                row[precision] = {what: _family_rate(programs, what) for what in ("trained", "predicted")}
            yield row


def _family_rate(programs: Sequence[Row | None], what: str) -> str:
    """Both rates, and how many times as fast ours is; empty where one was not measured."""
    if None in programs:
        return ""
    rates = [run.get(f"{what}_per_second", 0.0) for run in programs if run is not None]
    text = " / ".join("fails" if not rate else f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}" for rate in rates)
    return f"{rates[0] / rates[1]:.2f} ({text})" if all(rates) else text


def gpu_rates(file: File) -> Iterator[Row]:
    """Means over rounds of each shape of batches, of finetune and of Trainer."""
    for shape, programs in file["speed"].items():
        means = {
            name: {key: fmean(values) for key, values in pooled(programs[name]).items()}
            for name in ("finetune", "trainer")
        }
        for mean in means.values():
            mean["limit"] = mean["tflops"] / file["peak_tflops"]
        ratio = means["finetune"]["examples_per_second"] / means["trainer"]["examples_per_second"]
        yield {"shape": shape, "ratio": ratio, "rounds": len(programs["finetune"])} | means


def growth(file: File, words: Mapping[str, str]) -> Iterator[Row]:
    """Seconds and memory of each command by rows, and what a further row takes between sizes."""
    commands = by_command(file)
    missing = dict.fromkeys(commands, words["missing"])
    for size in sorted({run["rows"] for run in file["measured"]}):
        cells = {
            name: TEXT.vformat(words["cell"], (), run)
            for name, runs in commands.items()
            for run in runs
            if run["rows"] == size
        }
        yield {"rows": f"{size:,}"} | missing | cells
    added = {
        name: ", ".join(
            f"{1_000 * (after['cpu_seconds'] - run['cpu_seconds']) / (after['rows'] - run['rows']):.2g}"
            for run, after in pairwise(runs)
        )
        for name, runs in commands.items()
    }
    yield {"rows": words["further"]} | added


def by_command(file: File) -> dict[str, list[File]]:
    """The measurements of each command, the fewest rows first."""
    commands: dict[str, list[File]] = {run["command"]: [] for run in file["measured"]}
    for run in sorted(file["measured"], key=lambda run: int(run["rows"])):
        commands[run["command"]].append(run)
    return commands


def cached_epochs(file: File) -> Iterator[Row]:
    """Seconds of an epoch without and with the cache, and what the cache changes."""
    losses, memory = [file["scores"][kind]["losses"] for kind in ("anew", "cached")], file["memory"]
    facts = {
        "apart": max(abs(a - b) for a, b in zip(*losses, strict=True)),
        "grown": memory["memory after an epoch"] - memory["memory before"],
        "f1_encoded": file["scores"]["anew"]["f1"],
    }
    for row in nested(file["epochs"], ["name"]):
        yield {"encoded": row["anew"], **row, **facts}


def pretraining_rates(file: File) -> Iterator[Row]:
    """Tokens a second of each model."""
    for model in file["settings"]["models"]:
        yield {"model": model} | file[model]


def exports(file: File) -> Iterator[Row]:
    """Size and speed of each engine, and what an export changed."""
    for row in nested(file["tasks"], ["task", "engine"]):
        if row["engine"] in ENGINES:
            medians = {name: median(part[name] for part in row["rounds"]) for name in EXPORT_FIGURES}
            speed = {name: f"{value:,.{0 if value >= 100 else 1}f}" for name, value in medians.items()}
            score = row.get("score")
            lost = score["run"] - score["export"] if score else None
            changed = f"{row['changed']} of {row['rows']:,}" if "MB" in row else ""
            yield {"MB": None, **row, "speed": speed, "changed": changed, "lost": lost}


def faults(file: File) -> Iterator[Row]:
    """Kinds of faults, with what was lost in words."""
    for kind in file["kinds"]:
        yield kind | {"losses": ", ".join(kind["lost"]) or "nothing"}


def costs(file: File) -> Iterator[Row]:
    """Measured times and shares, by name."""
    for name, figure in sorted(file["figures"].items()):
        form = "{0:.2%}" if "share" in name else "{0:.2f}"
        means = {key: form.format(figure[key]).replace("%", " %") for key in ("mean", "most")}
        yield {"name": name, "count": figure["count"]} | means


def lora(file: File) -> Iterator[Row]:
    """Full fine-tuning and LoRA of each task, with the number of its rows where they are limited."""
    settings = file["settings"]
    for row in nested(file["summary"], ["task", "method"]):
        limit = settings["limit"] or settings["tasks"][row["task"]].get("limit")
        saved = row["adapter_bytes"] or row["model_bytes"]
        yield {**row, "rows": f", {limit:,} rows" if limit else "", "saved": saved}


def search(file: File) -> Iterator[Row]:
    """The winners of each method on each task."""
    for row in nested(file["results"], ["task", "method"]):
        yield {**row, "less": None if row["optimism"] is None else row["dev"] - row["optimism"]}


def distil(file: File) -> Iterator[Row]:
    """Scores by data set and student, and the student's lead over itself without a teacher."""
    for (data, layers), parts in grouped(file["parts"], ": ").items():
        models = pooled(part["models"] for part in parts)
        scores = {name: models[name]["score"] for name in TAUGHT}
        lead = [taught - alone for taught, alone in zip(*(scores[name] for name in TAUGHT[1:]), strict=True)]
        size = models["student"]["parameters"][0] / models["teacher"]["parameters"][0]
        yield {"data": data, "layers": layers, "metric": parts[0]["metric"], "lead": lead, "size": size} | scores


def keep_labels(file: File) -> Iterator[Row]:
    """Scores of each way to train again, on the rows of the old labels and on all."""
    for (data,), seeds in grouped(file["seeds"]).items():
        for way, scores in pooled(seeds).items():
            missing = {"new dev": None, "added label": None}
            yield missing | scores | {"data": data, "way": way, "rows": scores["rows"][0], "seeds": len(seeds)}


def ranking(file: File) -> Iterator[Row]:
    """Test scores of the baselines and of each loss."""
    intervals = [run["margin"]["interval"] for run in file["runs"].values()]
    half = fmean(high - low for low, high in intervals) / 2
    first = next(iter(file["runs"].values()))
    for order, scores in first["baselines"].items():
        yield {"order": order, "seeds": "", "scores": pooled([scores]), "half": half}
    for (loss, _), runs in grouped(file["runs"]).items():
        scores = pooled(run["scores"] for run in runs)
        yield {"order": f"minilm, loss={loss}", "seeds": len(runs), "scores": scores}


def label_errors(file: File) -> Iterator[Row]:
    """How many changed labels are among the first rows, by how many are read."""
    for at, depth in enumerate(file["depths"]):
        cases = {name: [draw[at] for draw in draws] for name, draws in file["found"].items()}
        chance = file["changed"] * depth / file["rows"]
        yield {"depth": depth, "rows": file["rows"], "chance": chance} | cases


def label_errors_of_types(file: File) -> Iterator[Row]:
    """How many changed labels are among the first rows, by task type."""
    for (*words,), draws in grouped(file["draws"]).items():
        counts = [f"{fmean(column):.1f}" for column in zip(*(draw["found"] for draw in draws), strict=True)]
        seconds = fmean(draw["cpu_seconds"] for draw in draws)
        yield draws[0] | {"labels": " ".join(words), "draws": len(draws), "depths": counts, "seconds": seconds}
    draw = next(iter(file["draws"].values()))
    chances = [f"{depth * draw['changed'] ** 2 / draw['rows']:.0f}" for depth in file["depths"]]
    yield {"labels": "by chance", "draws": "", "depths": chances, "seconds": None}


def unsure(file: File) -> Iterator[Row]:
    """How often a promised risk was broken, by data set and number of dev rows."""
    for name, data in file["sets"].items():
        if data["right"] is not None:
            for rows, figures in data["sizes"].items():
                yield {
                    "data": f"{name}: {data['kind']}",
                    "right": percent(data["right"]),
                    "rows": int(rows),
                    "risk": percent(data["risk"]),
                    "answered": percent(figures["coverage"]) if "coverage" in figures else "",
                    **_promises(figures),
                }


def unsure_chosen(file: File) -> Iterator[Row]:
    """How often a promise was broken after a choice among runs on the same dev rows, and without that choice."""
    for rows, figures in file["chosen"]["sizes"].items():
        yield {"rows": int(rows)} | {name: _promises(part) for name, part in figures.items()}


def _promises(figures: Row) -> dict[str, str]:
    return {name: percent(figures.get(name, 0) / figures["draws"]) for name in ("promised", "broken")}


def few_rows(file: File, setfit: File) -> Iterator[Row]:
    """Test scores by rows a class, and the lead of the default run over each other method."""
    for row, keys in _sizes(file["draws"], file["sets"]):
        yield row | {"metric": file["draws"][keys[-1]]["metric"]} | _compared(_scores(keys, file, setfit), "default")


def few_labels(few: File, file: File, setfit: File) -> Iterator[Row]:
    """Test scores of the preset by rows a class, its lead over each other method, and what it costs."""
    for row, keys in _sizes(few["draws"], file["sets"]):
        ours = [few["draws"][key] for key in keys]
        scores = [
            other | {"linear probe": own["linear-probe"], "preset": own["score"]}
            for other, own in zip(_scores(keys, file, setfit), ours, strict=True)
        ]
        theirs = [setfit["draws"][key]["cpu_seconds"] for key in keys if key in setfit["draws"]]
        costs = {
            "seconds": fmean(own["cpu_seconds"] for own in ours),
            "seconds of SetFit": fmean(theirs) if theirs else None,
            "memory": max(own["peak_memory_bytes"] for own in ours) / 1e6,
        }
        yield row | costs | _compared(scores, "preset")


def _sizes(draws: Row, sets: Mapping[str, str]) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """A row for each data set and number of rows a class, and the keys of its draws."""
    groups, order = grouped({key: key for key in draws}), list(sets)
    for data, size in sorted(groups, key=lambda group: (order.index(group[0]), int(group[1]))):
        keys = groups[data, size]
        yield {"data": f"{data}: {sets[data]}", "size": int(size), "draws": len(keys)}, keys


def _scores(keys: Sequence[str], file: File, setfit: File) -> Iterator[dict[str, float]]:
    """The scores of each draw by column."""
    for key in keys:
        scores = dict(file["draws"][key]["scores"]) if key in file["draws"] else {}
        if key in setfit["draws"]:
            scores["SetFit"] = setfit["draws"][key]["score"]
        yield {METHODS[name]: score for name, score in scores.items() if name in METHODS}


def _compared(draws: Iterable[Mapping[str, float]], ours: str) -> dict[str, Any]:
    """Our mean score, and that of each other method with our lead over it."""
    scores = list(draws)
    others = {column: _lead(scores, ours, column) for column in dict.fromkeys(METHODS.values()) if column != ours}
    return {"ours": fmean(draw[ours] for draw in scores), **others}


def _lead(draws: Sequence[Mapping[str, float]], ours: str, column: str) -> str:
    """The mean score of a method, and our lead in the draws that have it, with its interval."""
    both = [(100 * draw[ours], 100 * draw[column]) for draw in draws if column in draw]
    if not both:
        return ""
    leads = [our - their for our, their in both]
    mean, score = fmean(leads), fmean(their for _, their in both)
    part = "" if len(both) == len(draws) else f"; {len(both)} of the draws"
    if len(leads) < 2:
        return f"{score:.1f} ({mean:+.1f}{part})"
    half = float(student.ppf(0.975, len(leads) - 1)) * stdev(leads) / math.sqrt(len(leads))
    text = f"{score:.1f} ({mean:+.1f}, {mean - half:+.1f} to {mean + half:+.1f}{part})"
    return f"**{text}**" if mean + half < 0 else text


FUNCTIONS: dict[str, RowsFunction] = {
    function.__name__: function
    for function in (
        training_rates, pipeline_rates, family_rates, gpu_rates, growth, cached_epochs, pretraining_rates, exports,
        faults, costs, lora, search, distil, keep_labels, ranking, label_errors, label_errors_of_types, unsure,
        unsure_chosen, few_rows, few_labels,
    )
}  # fmt: skip

"""Rows of the tables of measurements: functions that tables.toml names, of files of results/benchmarks/ as they are."""

from collections.abc import Iterator
from statistics import fmean, median
from typing import Any

from tables import Row, RowsFunction, nested, pooled

File = dict[str, Any]
PIPELINES = {
    "pipeline": "one row at a time, the default",
    "pipeline, sorted batches": "batches of 32 rows sorted by length",
}
ENGINES = ("torch fp32", "torch bf16", "onnx fp32", "onnx int8, 7 bits")
EXPORT_FIGURES = ("rows/s", "p50 ms")
RUNTIMES = ("transformers", "sentence-transformers", "onnxruntime")


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


def by_command(file: File) -> dict[str, list[File]]:
    """The measurements of each command, the fewest rows first."""
    commands: dict[str, list[File]] = {run["command"]: [] for run in file["measured"]}
    for run in sorted(file["measured"], key=lambda run: int(run["rows"])):
        commands[run["command"]].append(run)
    return commands


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


def runtimes(file: File) -> Iterator[Row]:
    """In how many families each kind of model loads in a runtime, and how far its logits are from ours."""
    kinds: dict[tuple[str, str], list[File]] = {}
    for name, found in file["models"].items():
        kind, _, vector = name.split(", ")
        kinds.setdefault((kind, vector), []).append(found)
    for (kind, vector), models in kinds.items():
        cells = {}
        for runtime in RUNTIMES:
            there = [model[runtime] for model in models if model[runtime]]
            equal, rows = (sum(part[key] for part in there) for key in ("equal", "rows"))
            apart = max((part["largest difference"] for part in there), default=0.0)
            cells[runtime] = (
                f"{len(there)} of {len(models)}: {equal:,} of {rows:,} rows, {apart:.0e}" if there else "no"
            )
        classes = sorted({f"`{model['class']}`{' saved' * model['code']}" for model in models if model["class"]})
        yield {"kind": kind, "vector": vector, "class": ", ".join(classes) or "none"} | cells


def told(file: File) -> Iterator[Row]:
    """By the number of rows, and of all files: how far what was told was from what came."""
    runs = file["runs"]
    sizes = {name.rpartition(" ")[2]: "" for name in runs}
    for title, chosen in [*((size, [runs[name] for name in runs if name.endswith(f" {size}")]) for size in sizes),
                          ("all", [*runs.values()])]:  # fmt: skip
        off = {
            key: sorted(abs(run[told] / run[came] - 1) for run in chosen)
            for key, told, came in (("time", "told_seconds", "seconds"), ("memory", "told_bytes", "peak_memory_bytes"))
        }
        ranges = [(run["score"], *run["told_score"]) for run in chosen if run["told_score"]]
        row = {"rows": f"{int(size):,}" if (size := title).isdecimal() else title, "files": len(chosen)}
        for key, most in (("time", 0.2), ("memory", 0.15)):
            row[key] = f"{sum(part <= most for part in off[key])} of {len(chosen)}"
            row[f"{key}_off"] = f"{median(off[key]):.0%}, {off[key][-1]:.0%}".replace("%", " %")
        row["score"] = f"{sum(low <= score <= high for score, low, high in ranges)} of {len(ranges)}"
        row["width"] = 100 * median(high - low for _, low, high in ranges)
        yield row


def faults(file: File) -> Iterator[Row]:
    """Kinds of faults, with what was lost in words."""
    for kind in file["kinds"]:
        yield kind | {"losses": ", ".join(kind["lost"]) or "nothing"}


FUNCTIONS: dict[str, RowsFunction] = {
    function.__name__: function
    for function in (training_rates, pipeline_rates, gpu_rates, exports, runtimes, told, faults)
}

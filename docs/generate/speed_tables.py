"""The tables of speed on docs/explanation/speed.md, from what was measured next to others and part by part."""

from statistics import fmean
from typing import Any

from benchmark_tables import products_a_second

from finetune.analysis.form import Cells, markdown_table

NAMES = {
    "pipeline": "one row at a time, the default",
    "pipeline, sorted batches": "batches of 32 rows sorted by length",
}
BUSY = "since the machine had other work: waiting is not counted."
CLOCKS = {"wall": "", "cpu": f" Seconds that the processor computed, {BUSY}"}


def pipeline_table(measured: dict[str, Any]) -> str:
    """A row for each way to call the pipeline, and how it was measured."""
    settings, cpu, rates = measured["settings"], measured["cpu"], measured["median_rows_per_second"]
    lines = list[Cells]()
    for name, title in NAMES.items():
        pairs = [(found["finetune"], found[name]) for found in rates.values()]
        lines.append([title, *(f"{ours / theirs:.2f} ({ours:.1f} / {theirs:.1f})" for ours, theirs in pairs)])
    if "gflops" in measured:
        found = [(each, measured["lengths"] | {"examples_per_second": rates[each]["finetune"]}) for each in rates]
        shares = [products_a_second(each) / measured["gflops"][precision] for precision, each in found]
        lines.append(["ours, of a matrix product alone", *(f"{share:.0%}" for share in shares)])
    most = max(measured["largest_difference_of_a_probability"].values())
    made = (
        f"Rows/s: ours and, after the slash, the pipeline's; in front, how many times as fast ours is. MiniLM, "
        f"{settings['rows']} pairs of MRPC, {cpu['threads']} thread{'s' * (cpu['threads'] > 1)} ({cpu['name']}), "
        f"{measured['date'][:10]}; probabilities differ by at most {most:.4f}.{CLOCKS[settings['clock']]}"
    )
    return "\n".join([markdown_table(["pipeline", *rates], lines), "", made])


def cpu_parts_table(*runs: dict[str, Any]) -> str:
    """Training rate with each part added to those before, and its ratio to the row above, a column for each file."""
    lines = list[Cells]()
    for name in runs[0]["median_examples_per_second"]:
        cells = list[str]()
        for measured in runs:
            rates, before = measured["median_examples_per_second"], measured["ratios"]["this / before"]
            cells.append(f"{rates[name]:.1f}" + (f" ({before[name]['examples']:.2f})" if name in before else ""))
        lines.append([name, *cells])
    cpu, settings = runs[0]["cpu"], runs[0]["settings"]
    made = (
        "Examples/s, and how many times the row above. MiniLM on MRPC, medians of "
        f"{settings['rounds']} rounds; {cpu['threads']} thread{'s' * (cpu['threads'] > 1)} ({cpu['name']}), "
        f"{runs[0]['date'][:10]}."
    )
    head = ["computed by", *(measured["settings"]["train"]["precision"] for measured in runs)]
    return "\n".join([markdown_table(head, lines), "", made])


def step_profile_table(measured: dict[str, Any]) -> str:
    """Milliseconds of an update and their share by kind of operation, a column for each precision."""
    runs, cpu, settings = measured["runs"], measured["cpu"], measured["settings"]
    totals = {precision: sum(kinds.values()) for precision, kinds in runs.items()}
    lines = list[Cells]()
    for kind in next(iter(runs.values())):
        each = [(kinds[kind], kinds[kind] / totals[precision]) for precision, kinds in runs.items()]
        lines.append([kind, *(f"{milliseconds:.1f} ({share:.0%})" for milliseconds, share in each)])
    lines.append(["**all**", *(f"{total:.0f}" for total in totals.values())])
    made = (
        f"Milliseconds of an update of {settings['batch_size']} rows of MRPC, MiniLM, by torch's profiler, means of "
        f"{settings['updates']} updates; {cpu['threads']} thread{'s' * (cpu['threads'] > 1)} ({cpu['name']}), "
        f"{measured['date'][:10]}."
    )
    return "\n".join([markdown_table(["operations", *runs], lines), "", made])


def used_rows_table(measured: dict[str, Any]) -> str:
    """A row for each encoder, and how it was measured."""
    settings, cpu = measured["settings"], measured["cpu"]
    lines = list[Cells]()
    for name, ways in measured["medians"].items():
        used, every = ways["used"], ways["all"]
        rates = [each["examples_per_second"] for each in (used, every)]
        sizes = [f"{each['peak_bytes'] / 1e9:.2f}" for each in (used, every)]
        lines.append([name, f"{rates[0] / rates[1]:.2f} ({rates[0]:.1f} / {rates[1]:.1f})", " / ".join(sizes)])
    made = (
        f"Large vocabulary: {settings['vocabulary']:,} tokens, otherwise of MiniLM's shape, random. MRPC, "
        f"{settings['updates']} updates of {settings['train']['batch_size']} rows in {settings['train']['precision']}, "
        f"{cpu['threads']} thread{'s' * (cpu['threads'] > 1)} ({cpu['name']}), {measured['date'][:10]}."
        f"{CLOCKS[settings['clock']]}"
    )
    head = ["encoder", "examples/s: used words / all", "memory in GB: used words / all"]
    return "\n".join([markdown_table(head, lines), "", made])


TRAINING = "training"


def _total(run: dict[str, Any]) -> float:
    return float(sum(run["seconds"].values()))


def _cell(seconds: float, run: dict[str, Any]) -> str:
    """`3.3 (6 %)`."""
    return f"{seconds:.1f} ({seconds / _total(run):.0%})".replace("%", " %")


def gpu_table(file: dict[str, Any]) -> str:
    """Means over rounds, a line for each shape of batches."""
    lines = [_line(shape, found, file["peak_tflops"]) for shape, found in file["speed"].items()]
    columns = ("lengths of, BERT, batch", "finetune", "Trainer", "ratio", "of the limit", "launches an update", "idle")
    rounds = sorted({len(each) for found in file["speed"].values() for each in found.values()})
    made = (
        "Examples/s in bf16; after each slash Trainer's. The limit is a large matrix product, "
        f"{file['peak_tflops']:.0f} TFLOP/s; idle is the share of the time in which the GPU computes nothing. BERT "
        "with random weights, made-up rows with the lengths of each task, 40 updates timed after as many, rounds: "
        f"{' or '.join(map(str, rounds))} ({file['device']}, torch {file['versions']['torch']}, transformers "
        f"{file['versions']['transformers']}, {file['date'][:10]})."
    )
    return "\n".join([markdown_table(columns, lines), "", made])


def _line(shape: str, found: dict[str, list[dict[str, float]]], peak: float) -> Cells:
    ours, theirs = (_mean(found[name]) for name in ("finetune", "trainer"))
    rate = "examples_per_second"

    def both(name: str, form: str, scale: float = 1.0) -> str:
        return " / ".join(form.format(each[name] * scale) for each in (ours, theirs))

    return [
        shape,
        f"{ours[rate]:,.0f}",
        f"{theirs[rate]:,.0f}",
        f"**{ours[rate] / theirs[rate]:.1f}**",
        both("tflops", "{:.0f} %", 100 / peak),
        both("launches_an_update", "{:,.0f}"),
        both("idle_in_profile", "{:.0f} %", 100),
    ]


def _mean(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: fmean(each[name] for each in rounds) for name in rounds[0]}

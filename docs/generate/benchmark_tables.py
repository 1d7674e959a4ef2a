"""Tables of docs/ made from results/benchmarks/; `python docs/generate/pages.py --write` writes them."""

import statistics
from collections import defaultdict
from typing import Any

from finetune.analysis.form import Cells, markdown_table
from finetune.data.messages import so_many

UNCACHED = "anew"  # its key in saved results


def speed_table(*runs: dict[str, Any]) -> str:
    """Training rates of each benchmark run, our speed-up in it, and where it was measured the share of the limit."""
    limited = all("gflops" in measured for measured in runs)
    head, lines = ["training on MRPC", "examples/s (median)", "lowest to highest", "ours is"], list[Cells]()
    head += ["of the limit"] if limited else []
    for measured in runs:
        ratios = measured["ratios"]["finetune / this"]
        for name, found in measured["measurements"].items():
            rates = [each["examples_per_second"] for each in found]
            ratio = f"{ratios[name]['examples']:.2f} times as fast" if name in ratios else ""
            spread = f"{min(rates):.1f} to {max(rates):.1f}"
            share = [f"{_share_of_limit(name, measured):.0%}"] if limited else []
            lines.append([name, f"{statistics.median(rates):.1f}", spread, ratio, *share])
    return markdown_table(head, lines)


def _share_of_limit(name: str, measured: dict[str, Any]) -> float:
    """Of the rate of a matrix product alone: that of the products of MiniLM's layers in training, without padding."""
    rates = [3 * products_a_second(each) for each in measured["measurements"][name]]  # a backward pass is two forward
    limit = measured["gflops"]["bf16" if name.endswith("bf16") else "fp32"]
    return float(statistics.median(rates) / limit)


def products_a_second(found: dict[str, float]) -> float:
    """GFLOP/s of the products of MiniLM's layers in a forward pass, by rows a second and mean tokens and squares."""
    width, layers = 384, 6
    a_row = layers * (24 * width**2 * found["tokens"] + 4 * width * found["squared_tokens"])
    return found["examples_per_second"] * a_row / 1e9


def cached_table(measured: dict[str, Any]) -> str:
    """Seconds of an epoch on a frozen encoder, without and with the cache; effect of the cache on scores and memory."""
    head, lines = ["one epoch of", "features", "encoded each time", "from the cache", "ratio"], list[Cells]()
    for name, found in measured["epochs"].items():
        encoded, cached = (f"{statistics.median(found[kind]):.2f} s" for kind in (UNCACHED, "cached"))
        lines.append([name, f"{found['features']:,}", encoded, cached, f"{found['times as fast']:.1f}"])
    scores, memory = measured["scores"], measured["memory"]
    apart = max(abs(a - b) for a, b in zip(scores[UNCACHED]["losses"], scores["cached"]["losses"], strict=True))
    f1 = {kind: f"{100 * scores[kind]['f1']:.2f}" for kind in scores}
    grown = (memory["memory after an epoch"] - memory["memory before"]) / 1e6
    text = (
        f"Half precision, on 2,000 sentences of CoNLL-2003 with a linear head over three epochs: F1 {f1['cached']} "
        f"from the cache and {f1[UNCACHED]} without it, losses at most {apart:.1g} apart. An epoch over a cache of "
        f"{memory['cache bytes'] / 1e6:.0f} MB added {grown:.0f} MB to what the process holds."
    )
    return f"{markdown_table(head, lines)}\n\n{text}"


def false_positives_table(measured: dict[str, Any]) -> str:
    """False positive rates of `compare`."""
    seeds = list(next(iter(measured["bootstrap"].values())))
    head, lines = ["metric", *seeds], list[Cells]()
    for name, found in measured["bootstrap"].items():
        lines.append([name, *(f"{100 * found[each]:.1f} %" for each in seeds)])
    exact = 100 * measured["McNemar, 1 seed"]
    text = f"{measured['trials']:,} simulations each, {measured['rows']} rows; McNemar's exact test: {exact:.1f} %."
    return f"{markdown_table(head, lines)}\n\n{text}"


def reliability_table(measured: dict[str, Any]) -> str:
    """Faults of each kind: tried, survived and what was lost; then the totals."""
    head, lines = ["kind of fault", "tried", "survived", "lost", "minutes"], list[Cells]()
    for found in measured["kinds"]:
        lost = ", ".join(found["lost"]) or "nothing"
        tried, survived = (f"{found[key]:,}" for key in ("tried", "survived"))
        lines.append([found["kind"], tried, survived, lost, f"{found['seconds'] / 60:.0f}"])
    skipped = [f"Not tried: {what} ({why})." for what, why in measured["skipped"].items()]
    machine, minutes, (done, parts) = measured["machine"], measured["seconds"] / 60, measured["parts"]
    part = "" if done == parts else f" ({done} of the {parts} parts of `make chaos`)"
    total = (
        f"{measured['kills']:,} kills and {measured['faults']:,} other faults{part} in {minutes:.0f} minutes "
        f"on {machine['cores']} cores ({machine['cpu']}), torch {measured['versions']['torch']}, seed "
        f"{measured['seed']}, {measured['date'][:10]}."
    )
    return "\n".join([markdown_table(head, lines), "", " ".join([total, *skipped])])


def reliability_figures(figures: dict[str, Any]) -> str:
    """Measured times and shares, mean and most."""
    head, lines = ["measured", "mean", "most", "times"], list[Cells]()
    for name, found in sorted(figures.items()):
        mean, most = (
            f"{100 * found[key]:.2f} %" if "share" in name else f"{found[key]:.2f}" for key in ("mean", "most")
        )
        lines.append([name, mean, most, f"{found['count']:,}"])
    return markdown_table(head, lines)


def memory_table(measured: dict[str, Any]) -> str:
    """Memory of a run by rows, and the seconds until it trains."""
    head, lines = ["rows", "file", "most memory", "beyond the smallest run", "seconds until it trains"], list[Cells]()
    for run in measured["runs"]:
        sizes = (run[f"{name}_megabytes"] for name in ("file", "peak", "beyond_the_model"))
        lines.append([f"{run['rows']:,}", *(f"{size:,.0f} MB" for size in sizes), f"{run['seconds_to_training']:.1f}"])
    return markdown_table(head, lines)


def label_errors_table(measured: dict[str, Any]) -> str:
    """How many changed labels are among the first rows: the mean of the draws, and by chance."""
    cases = measured["found"]
    head, lines = ["rows read", *cases, "by chance"], list[Cells]()
    for place, depth in enumerate(measured["depths"]):
        means = [f"{statistics.fmean(draw[place] for draw in draws):.1f}" for draws in cases.values()]
        chance = measured["changed"] * depth / measured["rows"]
        lines.append([f"{depth} of {measured['rows']}", *means, f"{chance:.0f}"])
    draws = min(map(len, cases.values()))
    made = (
        f"Of {measured['changed']} changed labels; means of {so_many(draws, 'draw')}, MiniLM, {measured['date'][:10]}."
    )
    return f"{markdown_table(head, lines)}\n\n{made}"


def label_errors_of_types_table(measured: dict[str, Any]) -> str:
    """How many changed labels are among the first rows by task type: means of the draws, and by chance."""
    cases: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for draw, found in measured["draws"].items():
        cases[draw.rsplit(" ", 1)[0]].append(found)
    (changed,), (rows,) = ({found[name] for found in measured["draws"].values()} for name in ("changed", "rows"))
    depths = [depth * changed for depth in measured["depths"]]
    lines: list[Cells] = []
    for case, draws in cases.items():
        means = [f"{statistics.fmean(column):.1f}" for column in zip(*(found["found"] for found in draws), strict=True)]
        seconds = statistics.fmean(found["cpu_seconds"] for found in draws)
        lines.append([case, str(len(draws)), *means, f"{seconds:.0f} s"])
    lines.append(["by chance", "", *(f"{changed * depth / rows:.0f}" for depth in depths), ""])
    head = ["labels", "draws", *(f"in the first {depth}" for depth in depths), "CPU"]
    made = f"Of {changed} changed labels in {rows} rows, MiniLM, {measured['date'][:10]}."
    return f"{markdown_table(head, lines)}\n\n{made}"


def lora_table(measured: dict[str, Any]) -> str:
    """Full fine-tuning and LoRA on each task: means over the seeds."""
    head = ["task", "method", "trained", "score on dev", "training", "peak memory", "checkpoint", "saved"]
    lines = list[Cells]()
    for task, methods in measured["summary"].items():
        limit = measured["settings"]["limit"] or measured["settings"]["tasks"][task].get("limit")
        for method, found in methods.items():
            spread = "" if found["score_sd"] is None else f" ± {100 * found['score_sd']:.1f}"
            bytes_of = found["adapter_bytes"] or found["model_bytes"]
            sizes = (f"{found[name] / 1e6:,.0f} MB" for name in ("peak_memory_bytes", "checkpoint_bytes"))
            cells: Cells = [
                f"{task}, {limit:,} rows" if limit else task,
                method,
                f"{100 * found['trained_share']:.3g} %",
                f"{found['headline']} {100 * found['score']:.1f}{spread}",
                f"{found['seconds']:,.0f} s",
                *sizes,
                f"{bytes_of / 1e6:,.1f} MB",
            ]
            lines.append(cells)
    seeds = max(found["seeds"] for methods in measured["summary"].values() for found in methods.values())
    cpu, model = measured["cpu"], measured["settings"]["model"]
    return "\n".join(
        [
            markdown_table(head, lines),
            "",
            f"{model}, means of {seeds} seeds on {cpu['threads']} cores ({cpu['name']}), {measured['date'][:10]}. "
            "Saved: the model, or LoRA's adapter. The memory includes Python and its libraries.",
        ]
    )


def search_table(measured: dict[str, Any]) -> str:
    """The winners of each method on each task: on dev, and on rows that chose nothing."""
    head = ["task", "method", "epochs trained", "winner on dev", "less optimism", "on held-out rows"]
    lines = list[Cells]()
    for task, methods in measured["results"].items():
        for method, found in methods.items():
            spread = "" if found["held_out_sd"] is None else f" ± {100 * found['held_out_sd']:.1f}"
            less = "" if found["optimism"] is None else f"{100 * (found['dev'] - found['optimism']):.1f}"
            dev, held_out = f"{found['metric']} {100 * found['dev']:.1f}", f"{100 * found['held_out']:.1f}{spread}"
            lines.append([task, method, f"{found['epochs']:,}", dev, less, held_out])
    given = measured["settings"]
    note = f"{given['model']}, {given['trials']} settings with {given['seeds']} seeds each, {measured['date'][:10]}."
    return "\n".join([markdown_table(head, lines), "", note, ""])

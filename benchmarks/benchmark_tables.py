"""Tables of docs/ made from results/benchmarks/; `python benchmarks/measured.py --write` writes them."""

import statistics
from typing import Any

UNCACHED = "anew"  # its key in saved results


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


def api_start_table(measured: dict[str, Any]) -> str:
    """Seconds after the start of Python, by encoder: medians of the rounds."""
    lines = ["| encoder | first update | the run's end |", "|---|---|---|"]
    for name, found in measured["seconds"].items():
        lines.append(f"| {name} | {found['first_update']:.1f} s | {found['finished']:.1f} s |")
    rounds = len(next(iter(measured["rounds"].values())))
    cpu = measured["cpu"]
    return "\n".join(
        [*lines, "", f"Medians of {rounds} rounds on {cpu['threads']} cores ({cpu['name']}), {measured['date'][:10]}."]
    )


def label_errors_table(measured: dict[str, Any]) -> str:
    """How many changed labels are among the first rows, in each draw and by chance."""
    lines = ["| rows read | changed labels found | by chance |", "|---|---|---|"]
    for place, depth in enumerate(measured["depths"]):
        found = sorted(draw[place] for draw in measured["found"])
        chance = measured["changed"] * depth / measured["rows"]
        lines.append(
            f"| {depth} of {measured['rows']} | {', '.join(map(str, found))} of {measured['changed']} | {chance:.1f} |"
        )
    draws = len(measured["found"])
    return "\n".join([*lines, "", f"{draws} draws of rows and changed labels, MiniLM, {measured['date'][:10]}."])


def report_page_table(measured: dict[str, Any]) -> str:
    """Size of a report, and the seconds to write, open, filter and search it in Chromium."""
    lines = ["| rows | size | written in | usable after | a filter | a search |", "|---|---|---|---|---|---|"]
    for page in measured["pages"]:
        times = (f"{page[name]:.2f} s" for name in ("seconds_to_write", "load", "filter", "search"))
        lines.append(f"| {page['rows']:,} | {page['bytes'] / 1e6:.1f} MB | {' | '.join(times)} |")
    machine = measured["machine"]
    cpu = machine["cpu"]
    return "\n".join(
        [
            *lines,
            "",
            f"Medians of {measured['repeats']} times in Chromium on {cpu['threads']} cores ({cpu['name']}), "
            f"{machine['date'][:10]}.",
        ]
    )

"""The table of where the time of short runs goes, of docs/explanation/speed.md."""

from typing import Any

from finetune.commands.table.files import Cells, markdown_table

TRAINING = "training"


def short_runs_table(file: dict[str, Any]) -> str:
    """CPU seconds and share of each part, a column for each run of the latest measurement, and how it was measured."""
    measured = file["measured"][-1]
    runs = measured["runs"]
    parts = list(runs[0]["seconds"])
    lines: list[Cells] = [[part, *(_cell(run["seconds"][part], run) for run in runs)] for part in parts]
    lines.append(["**all but training**", *(_cell(_total(run) - run["seconds"][TRAINING], run) for run in runs)])
    lines.append(["**all**", *(f"{_total(run):.1f}" for run in runs)])
    cpu, threads = measured["cpu"], measured["cpu"]["threads"]
    shortened = "".join(
        f" Of the {run['run']}, {run['trained_updates']} of {run['updates']:,} updates were trained, and the seconds "
        "of training and of its scores multiplied."
        for run in runs
        if "trained_updates" in run
    )
    made = (
        "CPU seconds of a process (and their share), since the machine had other work: waiting is not counted. "
        f"MiniLM, {threads} thread{'s' * (threads > 1)} ({cpu['name']}), empty cache; made-up reviews of 8 to 30 "
        f"words, with the recipe of `finetune run FILE`, {measured['date'][:10]}.{shortened}"
    )
    return "\n".join([markdown_table(["part", *(run["run"] for run in runs)], lines), "", made])


def _total(run: dict[str, Any]) -> float:
    return float(sum(run["seconds"].values()))


def _cell(seconds: float, run: dict[str, Any]) -> str:
    """`3.3 (6 %)`."""
    return f"{seconds:.1f} ({seconds / _total(run):.0%})".replace("%", " %")

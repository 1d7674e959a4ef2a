"""The table of docs/ on trackers, from results/benchmarks/, and where a benchmark was measured."""

from typing import Any

from finetune.commands.table.files import Cells, markdown_table


def trackers_table(measured: dict[str, Any]) -> str:
    """What each tracker adds to an update, and to the end of a run."""
    head = ["tracker", "an update", "more than without", "in the run's thread", "in the tracker's", "end of the run"]
    lines = list[Cells]()
    for name, found in measured["results"].items():
        low, high = found["share_of_rounds"]
        more = f"{100 * found['share']:+.1f} % ({100 * low:+.1f} to {100 * high:+.1f})" if low or high else ""
        shares = (f"{100 * found[place]:.3f} %" for place in ("in_main_thread", "cpu_of_thread"))
        lines.append(
            [name, f"{1000 * found['seconds_per_update']:.0f} ms", more, *shares, f"{found['seconds_at_end']:.1f} s"]
        )
    equal = all(found["equal_losses"] for found in measured["results"].values())
    losses = "The losses are the same with each." if equal else "The losses are not the same with each."
    what = f"MiniLM on MRPC, {measured['updates']} updates of 32 rows, medians of {measured['rounds']} rounds in turns"
    notes = [
        f"{losses} Runs without a tracker differ from each other by several per cent too: what a tracker costs is what "
        "the run's thread and its own thread compute, as shares of the time of training.",
        where(measured, what),
    ]
    return "\n".join([markdown_table(head, lines), "", *notes])


def where(measured: dict[str, Any], what: str) -> str:
    """What was measured, on which machine and when."""
    cpu = measured["cpu"]
    return f"{what}; {cpu['threads']} cores ({cpu['name']}), {measured['date'][:10]}."

"""Tables of docs/ on many runs, trackers and large predictions, from results/benchmarks/."""

from typing import Any

from finetune.commands.table.files import Cells, markdown_table

PLAIN = "one process"


def many_runs_table(measured: dict[str, Any]) -> str:
    """Seconds of a command with one run and with many, by executor; equal records; kills."""
    alone, many, runs = measured["seconds_of_one"], measured["seconds"], measured["runs"]
    head = ["command", "seconds", "more than one process", "records equal to those of one process"]
    lines = list[Cells]()
    for way, seconds in alone.items():
        equal = measured["equal"].get(way)
        lines.append(
            [f"1 run, {way}", f"{seconds:.1f}", _more(seconds, alone[PLAIN]), "" if equal is None else f"{equal} of 1"]
        )
    for way, seconds in many.items():
        equal = measured["equal"].get(way)
        same = "" if equal is None else f"{equal} of {runs}"
        lines.append([f"{runs} runs, {way}", f"{seconds:.1f}", _more(seconds, many[PLAIN]), same])
    start = alone["ray"] - alone[PLAIN]
    each = (many["ray, 1"] - many[PLAIN] - start) / (runs - 1)
    job = alone["slurm"] - alone[PLAIN]
    notes = [
        f"Ray takes {start:.1f} s to start and end; each further run then takes {each:+.2f} s compared with one "
        f"process. A job of submitit takes {job:+.1f} s: it is a new process (without a queue here).",
        *_workers_killed(measured),
        where(measured, "A run is 2 epochs of 200 rows with a tiny encoder and one thread"),
    ]
    return "\n".join([markdown_table(head, lines), "", *notes])


def _workers_killed(measured: dict[str, Any]) -> list[str]:
    if "kills" not in measured:
        return []
    return [
        f"With {measured['kills']} kills of workers at random moments {measured['after_kills']} of "
        f"{measured['killed_runs']} records are those of one process."
    ]


def _more(seconds: float, plain: float) -> str:
    return "" if seconds == plain else f"{seconds - plain:+.1f}"


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


def predict_rows_table(measured: dict[str, Any]) -> str:
    """Rows per second by workers and rows, memory of the largest process, and what kills changed."""
    head, lines = ["rows", "workers", "rows/s", "memory of the largest process"], list[Cells]()
    found = {(run["rows"], run["workers"]): run for run in [*measured["by_workers"], *measured["by_rows"]]}
    for (rows, workers), run in sorted(found.items()):
        memory = f"{run['peak_memory_megabytes']:,.0f} MB"
        lines.append([f"{rows:,}", str(workers), f"{run['rows_per_second']:,.0f}", memory])
    overlap = measured["overlap"]
    notes = [
        *_killed(measured.get("killed")),
        f"The outputs are {'' if measured['equal_for_any_number_of_workers'] else 'not '}the same for any number of "
        f"workers. Rows read and tokenized in a thread of their own, on this CPU: {overlap['with']:,.0f} rows/s, "
        f"without {overlap['without']:,.0f}.",
        where(measured, "A tiny encoder with random weights, texts of 14 to 26 words"),
    ]
    return "\n".join([markdown_table(head, lines), "", *notes])


def _killed(kills: dict[str, Any] | None) -> list[str]:
    if kills is None:
        return []
    proved = "every row is there once" if kills["complete"] else "rows are missing"
    running = sum(not kill["had_ended"] for kill in kills["kills"])
    return [
        f"{kills['rows']:,} rows with {running} kills of all processes: {proved}, and of the "
        f"{kills['files_compared']} files that were predicted without a kill too, {kills['files_equal']} are equal, "
        f"byte by byte; the largest process had {kills['peak_memory_megabytes']:,.0f} MB."
    ]


def where(measured: dict[str, Any], what: str) -> str:
    """What was measured, on which machine and when."""
    cpu = measured["cpu"]
    return f"{what}; {cpu['threads']} cores ({cpu['name']}), {measured['date'][:10]}."

"""The cells of a table of a recipe: for each score its systems, with the difference to the first and its interval."""

from collections.abc import Mapping, Sequence

from finetune.commands.table.paired_table import PairedLine
from finetune.commands.table.paper_table import PaperTable
from finetune.commands.table.paper_table_formats import Form, about_runs, runs_behind
from finetune.runs.seeds import Summary

OURS = ("runs", "dev", "change", "95 % interval", "detects")


def paired_form(table: PaperTable, lines: Sequence[PairedLine]) -> Form:
    """A row for each system on each score, grouped by score."""
    control = {f"from {table.control}": _from_control} if table.control else {}
    last = control | ({"paper*": _paper} if any(one.paper is not None for one in lines) else {})
    names = list(dict.fromkeys(name for line in lines for name in line.system.columns)) or [table.heading]
    header = ["score", *names, *OURS, *last]
    rows = [[*_cells(line, names), *(shown(line) for shown in last.values())] for line in lines]
    return Form(
        title=table.title, header=header, rows=rows, left=1 + len(names), grouped=True,
        notes=_notes(table, lines), behind=runs_behind([one.line for one in lines]),
    )  # fmt: skip


def paired_columns(lines: Sequence[PairedLine]) -> Mapping[str, Sequence[str]]:
    """What a CSV file has more than that of other tables: one number a cell, in points."""
    ours = ("pairs", "difference", "difference_low", "difference_high", "detects")
    control = ("from_control", "from_control_low", "from_control_high")
    columns: dict[str, list[str]] = {name: [] for name in (*ours, *control, "paper")}
    for one in lines:
        found, metric = one.difference, one.line.metric
        numbers = [*_numbers(found), (found.half or None) if found else None, *_numbers(one.from_control)]
        cells = ["" if number is None else f"{metric.scaled(number):.3f}" for number in numbers]
        paper = "" if one.paper is None else f"{one.paper:g}"
        for column, cell in zip(columns.values(), [str(found.n) if found else "", *cells, paper], strict=True):
            column.append(cell)
    return columns


def _numbers(found: Summary | None) -> list[float | None]:
    """The mean of a difference, and the ends of its interval."""
    return [found.mean, *(found.interval or (None, None))] if found else [None] * 3


def _cells(one: PairedLine, names: Sequence[str]) -> list[str]:
    line, found = one.line, one.difference
    metric = line.metric
    title = f"{line.name}: {metric.name}" + ", lower is better" * (not metric.greater_is_better)
    system = [one.system.columns.get(name, "") for name in names] if one.system.columns else [one.system.name]
    return [
        title,
        *system,
        f"{len(line.runs)} of {one.planned}" if len(line.runs) < one.planned else str(len(line.runs) or ""),
        "" if line.dev is None else metric.shown(line.dev.mean),
        "" if found is None else metric.signed(found.mean),
        "" if found is None else " to ".join(map(metric.signed, found.interval or ())),
        metric.shown(found.half) if found and found.half else "",
    ]


def _from_control(one: PairedLine) -> str:
    """`+1.7 (-2.3 to +5.6)`."""
    found, metric = one.from_control, one.line.metric
    if found is None:
        return ""
    interval = f" ({' to '.join(map(metric.signed, found.interval))})" if found.interval else ""
    return f"{metric.signed(found.mean)}{interval}"


def _paper(one: PairedLine) -> str:
    """`84.4`, or `83.9 (-0.5)` with the change from the paper's first row."""
    if one.paper is None:
        return ""
    places = 1 if round(one.paper, 1) == one.paper else 2
    change = "" if one.paper_difference is None else f" ({one.paper_difference:+.{places}f})"
    return f"{one.paper:.{places}f}{change}"


def _notes(table: PaperTable, lines: Sequence[PairedLine]) -> list[str]:
    first = table.system[0].name
    pairs = {one.difference.n for one in lines if one.difference is not None}
    of = f" ({' or '.join(map(str, sorted(pairs)))} here)" if pairs else ""
    in_points = ", in points" * all(one.line.metric.scale == 100 for one in lines)
    notes = [
        f"Dev: mean of our runs over seeds{in_points}.",
        f"Change: from {first}, mean over pairs of runs with the same seed{of}, pre-training included; its 95 % "
        "interval is Student's t over pairs. An interval that has zero in it shows no difference.",
        "Detects: the least difference that these runs could have told from none, half the interval's width: with 3 "
        "pairs 2.5 times the standard deviation of the differences, with 4 1.6, with 5 1.2.",
    ]
    if table.control:
        notes.append(f"From {table.control}: the change from that system, with its interval.")
    if any(one.paper is not None for one in lines):
        notes.append(
            f"* {table.source}, of encoders of another size and text: another scale, in which only the order of the "
            "rows can be compared; in brackets the change from the paper's first row."
        )
    if pairs and max(len(one.line.runs) for one in lines) > min(pairs):
        notes.append("A run without a partner of the same seed, data and precision counts in dev, not in the change.")
    return [*notes, *about_runs([one.line for one in lines])]

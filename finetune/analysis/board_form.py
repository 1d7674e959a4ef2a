"""A leaderboard as it is printed, and as numbers for CSV and JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from finetune.analysis.form import Form
from finetune.analysis.leaderboard import Board, BoardLine
from finetune.data.messages import noun, so_many
from finetune.metrics.metric import Metric
from finetune.metrics.spacing import Interval
from finetune.runs.verdict import Level

OF_SEEDS = "†"
LEAST_P = 0.0001  # that is shown
AGAINST: dict[Level, str] = {
    "better": "better than ",
    "worse": "worse than ",
    "unclear": "unclear against ",
    "alone": "",
}
EQUAL, UNTESTED = "equal to ", "not tested against "
WORDS = ("data", "", "model", "settings")


def board_form(boards: Sequence[Board]) -> Form:
    """The lines below the data that they were scored on, the best first. Splits other than the first are columns."""
    splits = list(dict.fromkeys(name for board in boards for line in board.lines for name in line.others))
    numbers = ["seeds", "score", "95 % interval", "to the best", "p (Holm)", "against baseline", *splits]
    header = [*WORDS, *numbers, "parameters", "MB", "seconds", "rows/s"]
    rows = [
        [title, str(place), *_cells(line, board, splits)]
        for board, title in zip(boards, _titles(boards), strict=True)
        for place, line in enumerate(board.lines, start=1)
    ]
    filled = [at for at in range(len(header)) if at < len(WORDS) or any(row[at] for row in rows)]
    return Form(
        title=f"{boards[0].task}: {_counted(boards)}",
        cells=[{header[at]: row[at] for at in filled} for row in rows],
        notes=list(_notes(boards)),
        numbers=board_numbers(boards),
        behind=[f"{_named(line)}: {_runs(line)}" for board in boards for line in board.lines],
        left=len(WORDS),
        grouped=True,
    )


def _counted(boards: Sequence[Board]) -> str:
    runs = sum(len(line.records) for board in boards for line in board.lines)
    lines = sum(len(board.lines) for board in boards)
    return f"{so_many(lines, 'setting')}, {so_many(runs, 'run')}"


def _titles(boards: Sequence[Board]) -> list[str]:
    """The title of each board, with a part of its data's hash where two have the same."""
    titles = [board.title for board in boards]
    return [
        title if titles.count(title) == 1 else f"{title}, data {board.lines[0].records[0].data[:8]}"
        for title, board in zip(titles, boards, strict=True)
    ]


def _named(line: BoardLine) -> str:
    return ", ".join(filter(None, [line.model, line.settings]))


def _runs(line: BoardLine) -> str:
    ids = [record.id for record in line.records]
    return f"{noun(len(ids), 'run')} {', '.join(ids)}"


def _cells(line: BoardLine, board: Board, splits: Sequence[str]) -> list[str]:
    metric = board.metric
    return [
        line.model,
        line.settings,
        str(len(line.records)),
        metric.shown(line.score),
        _ends(line.interval, metric.shown) + OF_SEEDS * line.of_seeds,
        "best" if line is board.lines[0] and len(board.lines) > 1 else _difference(line, metric),
        _p(line.p_holm),
        _baseline(line, metric),
        *(metric.shown(line.others[name]) if name in line.others else "" for name in splits),
        "" if line.parameters is None else f"{line.parameters:,}",
        "" if line.megabytes is None else f"{line.megabytes:.1f}",
        "" if line.seconds is None else f"{line.seconds:,.0f}",
        f"{line.rows_per_second:,.0f}",
    ]


def _p(p: float | None) -> str:
    return "" if p is None else f"{p:.4f}" if p >= LEAST_P else f"<{LEAST_P}"


def _ends(interval: Interval | None, shown: Any) -> str:
    return " to ".join(map(shown, interval or ()))


def _difference(line: BoardLine, metric: Metric) -> str:
    """`-3.0 (-4.2 to -1.7)`"""
    found = line.difference
    if found is None:
        return ""
    between = f" ({_ends(found.interval, metric.signed)})" if found.interval else ""
    return f"{metric.signed(found.value)}{between}" + OF_SEEDS * line.difference_of_seeds


def _baseline(line: BoardLine, metric: Metric) -> str:
    """`better than TF-IDF 83.5`"""
    if line.baseline is None:
        return ""
    name, score = line.baseline
    against = UNTESTED if _is_untested(line) else AGAINST[line.verdict.level]
    return f"{EQUAL if line.verdict.difference == 0 else against}{name} {metric.shown(score)}"


def _is_untested(line: BoardLine) -> bool:
    """Whether nothing tells if a line that is no worse than the baseline, and not equal to it, is better."""
    found = line.verdict
    return found.level == "unclear" and found.difference_interval is None and found.difference != 0


def _notes(boards: Sequence[Board]) -> Iterator[str]:
    if len(boards) > 1:
        yield f"runs on {len(boards)} versions of the data are not compared with each other: each has its own best"
    yield from dict.fromkeys(note for board in boards for note in board.notes)
    if any(_is_untested(line) for board in boards for line in board.lines):
        yield f"{UNTESTED}a baseline: the records have no interval of the difference"
    yield "MB: of the weights in fp32; seconds and rows/s: of training"


def board_numbers(boards: Sequence[Board]) -> list[dict[str, Any]]:
    """A row for each line: scores and differences as computed, 0.843 for 84.3 points."""
    splits = list(dict.fromkeys(name for board in boards for line in board.lines for name in line.others))
    return [_numbers(line, board, splits) for board in boards for line in board.lines]


def _numbers(line: BoardLine, board: Board, splits: Sequence[str]) -> dict[str, Any]:
    first, found = line.records[0], line.difference
    low, high = line.interval or (None, None)
    baseline, baseline_score = line.baseline or (None, None)
    difference_low, difference_high = (found and found.interval) or (None, None)
    return {
        "task": board.task, "data": first.data[:8], "train_rows": first.rows.get("train"), "split": board.split,
        "rows": board.rows, "metric": board.metric.name, "model": line.model, "settings": line.settings,
        "seeds": len(line.records), "score": line.score, "low": low, "high": high,
        "chance_of": None if line.interval is None else _chance(line.of_seeds), "best": line is board.lines[0],
        "difference": found and found.value, "difference_low": difference_low, "difference_high": difference_high,
        "difference_chance_of": found and _chance(line.difference_of_seeds), "p": found and found.p,
        "p_holm": line.p_holm, "baseline": baseline, "baseline_score": baseline_score, "verdict": line.verdict.level,
        **{f"{name}_score": line.others.get(name) for name in splits},
        "parameters": line.parameters, "megabytes": line.megabytes, "seconds": line.seconds,
        "rows_per_second": line.rows_per_second, "runs": " ".join(record.id for record in line.records),
    }  # fmt: skip


def _chance(of_seeds: bool) -> str:
    return "seeds" if of_seeds else "rows and seeds"

"""The forms of a table: a row a model and task, a row a system of a recipe, and systems with tasks as columns.

In the last one, as in the paper's Table 1 (Devlin et al. 2019), our scores on dev, published ones on dev and published
ones on test are groups of rows that are never mixed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from statistics import fmean
from typing import Any, TypeVar

from finetune.analysis.published import Anchor
from finetune.analysis.table import TextTable
from finetune.commands.table.declaration import PaperTable
from finetune.commands.table.lines import TableLine
from finetune.data.messages import noun, so_many
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.runs.record import Cost
from finetune.runs.seeds import Summary, changed_settings
from finetune.runs.settings import SEEDS
from finetune.runs.verdict import chosen_by_scored

K = TypeVar("K")
OURS, OUR_TEST, DEV, TEST = "ours, on dev", "ours, on test", "published, on dev", "published, on test"
BASELINES = "baselines of our runs, on dev"
GROUPS = (OURS, BASELINES, OUR_TEST, DEV, TEST)
SIMPLE = "majority or mean"
CONSTANT = {"majority": SIMPLE, "mean": SIMPLE}  # predictions, of labels and of numbers
HIDDEN = "†"  # marks a published score on labels that a server hides


def runs_form(table: PaperTable, lines: Sequence[TableLine], *, cost: bool = False) -> TextTable:
    """A row for each model on each task, with the spread over seeds, the verdict, and with what runs `cost`."""
    sources, over = _sources(lines), "folds" if any(row.over for row in table.row) else "seeds"
    cells = []
    for line in lines:
        metric = line.metric
        on_dev, on_test = (
            "; ".join(f"{metric.shown(a.score)}{HIDDEN * a.hidden}{_version(a)} [{sources[a.source]}]" for a in anchors)
            for anchors in (line.published_dev, line.published_test)
        )
        cells.append({
            "": line.row.name, "metric": metric.name, "model": line.model,
            "runs": f"{len(line.runs)}{line.best_of}" if line.runs else "no run",
            "failed": _text(line.failed), "dev": score_words(line.dev, metric),
            "95 % interval": _part(line.dev, "interval", metric.ends), "published dev": on_dev,
            "verdict": "; ".join(line.verdicts), "test": score_words(line.test, metric), "published test": on_test,
            **{name: _text(value, COST[name]) for name, value in zip(COST, _cost(line), strict=True) if cost},
        })  # fmt: skip
    published = [anchor for line in lines for anchor in line.published]
    notes = [
        "Scores in points; dev and test: mean ± standard deviation of our runs over "
        f"{over}{', which share most of their training rows' * (over == 'folds')}.",
        "Failed: number of runs no better than the majority class.",
        f"Verdict: equal if the whole 95 % interval of our mean (Student's t over {over}) is within {table.margin:g} "
        f"{noun(table.margin, 'point')} of the published score, lower or higher if it is entirely outside, else "
        "undecided (always so for one run). The published score is taken as exact.",
        *_caveats(lines),
        f"{HIDDEN} scored by a server on hidden labels; not comparable with dev." * any(a.hidden for a in published),
        "(rows) or (first version) after a score: it is of an older version of the data set."
        * any(anchor.outdated for anchor in published),
        "Cost: device time (seconds times devices) is the mean of a run, memory is the most of any run. Blank without "
        "a GPU, and where a record has none." * cost,
    ]
    option = " --form runs" * table.has_columns + " --cost" * cost
    return _form(table, lines, cells, notes, left=3, option=option)


def paired_form(table: PaperTable, lines: Sequence[TableLine]) -> TextTable:
    """A row for each system of a recipe on each score, grouped by score, with the difference to the first."""
    names = list(dict.fromkeys(name for line in lines for name in line.names))
    in_paper = any(line.paper is not None for line in lines)
    cells = []
    for line in lines:
        metric, count, change, control = line.metric, len(line.runs), line.difference, line.from_control
        cell = {
            "score": f"{line.row.name}: {metric.name}{', lower is better' * (not metric.greater_is_better)}",
            **{name: line.names.get(name, "") for name in names},
            "runs": f"{count} of {line.planned}" if count < line.planned else str(count or ""),
            "dev": _part(line.dev, "mean", metric.shown), "change": _part(change, "mean", metric.signed),
            "95 % interval": _part(change, "interval", metric.signed_ends),
            "detects": _text((change and change.half) or None, metric.shown),
        }  # fmt: skip
        if table.control:
            ends = _part(control, "interval", metric.signed_ends)
            cell[f"from {table.control}"] = _part(control, "mean", metric.signed) + f" ({ends})" * bool(ends)
        if in_paper:
            digits = ".1f" if line.paper is None or round(line.paper, 1) == line.paper else ".2f"
            change_there = _text(line.paper_difference, f" ({{:+{digits}}})".format)
            cell["paper*"] = _text(line.paper, f"{{:{digits}}}".format) + change_there
        cells.append(cell)
    pairs = {line.difference.n for line in lines if line.difference is not None}
    here = f" ({' or '.join(map(str, sorted(pairs)))} here)" * bool(pairs)
    notes = [
        f"Dev: mean of our runs over seeds{', in points' * all(line.metric.scale == 100 for line in lines)}.",
        f"Change: from {table.system[0].name}, mean over pairs of runs with the same seed{here}, pre-training "
        "included; its 95 % interval is Student's t over pairs. An interval that has zero in it shows no difference.",
        "Detects: the least difference that these runs could have told from none, half the interval's width: with 3 "
        "pairs 2.5 times the standard deviation of the differences, with 4 1.6, with 5 1.2.",
        f"From {table.control}: the change from that system, with its interval." * bool(table.control),
        f"* {table.source}, of encoders of another size and text: another scale, in which only the order of the rows "
        "can be compared; in brackets the change from the paper's first row." * in_paper,
        "A run without a partner of the same seed, data and precision counts in dev, not in the change."
        * any(len(line.runs) > min(pairs) for line in lines if pairs),
        *_caveats(lines),
    ]
    return _form(table, lines, cells, notes, left=1 + len(names), grouped=True)


def paper_form(table: PaperTable, lines: Sequence[TableLine]) -> TextTable:
    """A row for each system. Raises UserError for a table whose rows name no columns."""
    columns = {row.key: row.column for row in table.row if row.column}
    if not columns:
        raise UserError(f"the table '{table.title}' has no form with tasks as columns", "Leave `form` out")
    lines = [line for line in lines if line.row.key in columns]
    metrics, sources = {line.row.key: line.metric for line in lines}, _sources(lines)
    values: dict[tuple[str, str], dict[tuple[str, str], list[float]]] = {}
    for line in lines:
        for group, name, score in _system_scores(line, sources):
            values.setdefault((group, name), {}).setdefault(line.row.key, []).append(score)
    systems = {system: {key: fmean(of_key) for key, of_key in scores.items()} for system, scores in values.items()}
    ours = {name: scores for (group, name), scores in systems.items() if group == OURS}
    common = [key for key in columns if ours and all(key in scores for scores in ours.values())]
    averages = {"Avg": [*columns]} | ({f"Avg of {len(common)}": common} if 1 < len(common) < len(columns) else {})
    averages = {name: keys for name, keys in averages.items() if any(map({*keys}.issubset, systems.values()))}
    cells = []
    for (group, name), scores in sorted(systems.items(), key=lambda system: GROUPS.index(system[0][0])):
        row = {"scores": group, "system": name} | dict.fromkeys(columns.values(), "")
        for column in {columns[key] for key in scores}:
            keys = [key for key in columns if columns[key] == column]
            row[column] = "/".join(metrics[key].shown(scores[key]) if key in scores else "–" for key in keys)
        for heading, keys in averages.items():
            complete = {*keys}.issubset(scores)
            row[heading] = f"{fmean(metrics[key].scaled(scores[key]) for key in keys):.1f}" if complete else ""
        cells.append(row)
    lacking = _joined((model, key[0]) for model, scores in ours.items() for key in columns if key not in scores)
    without = f" ({'; '.join(f'{model}: {names}' for model, names in lacking.items())})" * bool(lacking)
    of_metrics = _joined((metric, name) for name, metric in columns)
    runs = _joined(((line.model, f"{so_many(len(line.runs), 'run')}{line.best_of}{',' * bool(line.best_of)}"),
                    line.row.name) for line in lines if line.runs)  # fmt: skip
    counts: dict[str, list[str]] = {}
    for (model, count), names in runs.items():
        counts.setdefault(model, []).append(f"{count} of {names}")
    published = [(line.row.name, anchor) for line in lines for anchor in line.published]
    outdated = ", ".join(dict.fromkeys(name for name, anchor in published if anchor.outdated))
    notes = [
        f"Scores in points: {'; '.join(f'{metric} of {names}' for metric, names in of_metrics.items())}. "
        "Ours are means of our runs.",
        *(
            f"{heading}: of all {len(keys)} scores; empty where a system lacks one{without}."
            if len(keys) == len(columns)
            else f"{heading}: of {', '.join(name for name, _ in keys)}, which all of ours have."
            for heading, keys in averages.items()
        ),
        *(f"{model}: {'; '.join(texts)}." for model, texts in counts.items()),
        *_caveats(lines),
        "On test: scored by a server on hidden labels; not comparable with dev." * any(a.hidden for _, a in published),
        f"Published scores of {outdated} may be of an older version of the data set." * bool(outdated),
    ]
    return _form(table, lines, cells, notes, left=2, grouped=True)


def _system_scores(line: TableLine, sources: Mapping[str, int]) -> Iterator[tuple[str, str, float]]:
    """(group, system, score) of our means, of baselines, and of published scores."""
    yield from (
        (group, line.model, summary.mean) for group, summary in ((OURS, line.dev), (OUR_TEST, line.test)) if summary
    )
    for run in line.runs:
        for name, scores in run.baselines[line.row.split].items():
            system = "TF-IDF" if name.startswith("tfidf") else CONSTANT.get(name, name)
            yield BASELINES, system, scores[line.metric.name]
    for group, anchors in ((DEV, line.published_dev), (TEST, line.published_test)):
        yield from ((group, f"{line.model} [{sources[anchor.source]}]", anchor.score) for anchor in anchors)


def _form(
    table: PaperTable, lines: Sequence[TableLine], cells: Sequence[dict[str, str]], notes: Sequence[str], **facts: Any
) -> TextTable:
    behind = []
    for line in lines:
        settings = [
            f"{key} {' or '.join(dict.fromkeys(map(str, values)))}"
            for key, values in changed_settings(line.runs).items()
            if key not in (*SEEDS, "model")
        ]
        runs = f"{noun(len(line.runs), 'run')} {', '.join(run.id for run in line.runs)}"
        behind += [f"{line.row.name}, {line.model}: {', '.join(settings) or 'defaults'}; {runs}"] * bool(line.runs)
    behind = list(dict.fromkeys(behind))  # two metrics of the same runs are one line
    listed = [f"[{number}] {source}" for source, number in _sources(lines).items()]
    return TextTable.of_cells(table.title, cells, notes=[*filter(None, notes), *listed], behind=behind, **facts)


def _caveats(lines: Sequence[TableLine]) -> Iterator[str]:
    """Caveats on our scores, with the lines they apply to."""
    if any(line.dev is not None and line.dev.n > 1 and line.dev.interval is None for line in lines):
        yield "Several runs with equal scores have no interval: another seed may score differently."
    for holds, text in (
        (chosen_by_scored, "Epoch or threshold chosen on dev, so these dev scores are optimistic"),
        (attrgetter("cross_fitted"), "Cross-fitted: scored on dev with thresholds chosen on other rows of dev"),
    ):
        which = [f"{line.row.name} {line.metric.name}, {line.model}" for line in lines if any(map(holds, line.runs))]
        if which:
            yield f"{text}: {'; '.join(which)}."


def numbers_of(line: TableLine, *, pairs: bool = False, cost: bool = False) -> dict[str, str]:
    """A row of a CSV file: a number a column, in points, seconds and bytes."""
    metric = line.metric

    def points(summary: Summary | None, **columns: str) -> dict[str, str]:
        values: dict[str, float | None] = {}
        if summary is not None:
            low, high = summary.interval or (None, None)
            values = vars(summary) | {"low": low, "high": high, "half": summary.half or None}
        return {
            name: _text(values.get(of), lambda value: f"{metric.scaled(value):.3f}") for name, of in columns.items()
        }

    def scores(anchors: Iterable[Anchor]) -> str:
        return "; ".join(f"{metric.scaled(anchor.score):.2f}" for anchor in anchors)

    numbers = {
        "row": line.row.name, "metric": metric.name, "model": line.model, "settings_tried": str(line.choices),
        "runs": str(len(line.runs)), "failed": _text(line.failed),
        **points(line.dev, dev_mean="mean", dev_sd="sd", dev_low="low", dev_high="high", dev_best="best"),
        **points(line.test, test_mean="mean", test_sd="sd"),
        "published_dev": scores(line.published_dev), "verdict": "; ".join(line.verdicts),
        "published_test": scores(anchor for anchor in line.published_test if not anchor.hidden),
        "published_server": scores(anchor for anchor in line.published_test if anchor.hidden),
        "sources": "; ".join(f"{anchor.source}{_version(anchor)}" for anchor in line.published),
        "run_ids": "; ".join(run.id for run in line.runs),
    }  # fmt: skip
    if pairs:
        numbers |= {
            "pairs": _part(line.difference, "n"),
            **points(line.difference, difference="mean", difference_low="low", difference_high="high", detects="half"),
            **points(line.from_control, from_control="mean", from_control_low="low", from_control_high="high"),
            "paper": _text(line.paper, "{:g}".format),
        }
    if cost:
        numbers |= dict(zip(Cost.model_fields, (_text(value, "{:.12g}".format) for value in _cost(line)), strict=True))
    return numbers


def score_words(summary: Summary | None, metric: Metric) -> str:
    """Mean in points, ± standard deviation for several runs; empty for None."""
    return _part(summary, "mean", metric.shown) + _part(summary, "sd", lambda sd: f" ± {metric.shown(sd)}")


def _cost(line: TableLine) -> list[float | None]:
    """The mean time, the largest memory and the largest GPU memory of the runs with known cost."""
    costs = [run.cost for run in line.runs if run.cost is not None]
    measured = [[value for cost in costs if (value := getattr(cost, name)) is not None] for name in Cost.model_fields]
    return [None if not values else max(values) if number else fmean(values) for number, values in enumerate(measured)]


def _time(seconds: float) -> str:
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 36_000 else f"{seconds / 3600:.1f} h"


def _memory(size: float) -> str:
    return f"{size / 2**30:.2f} GiB"


COST = {"device time": _time, "memory": _memory, "GPU memory": _memory}  # columns


def _sources(lines: Sequence[TableLine]) -> dict[str, int]:
    sources = dict.fromkeys(anchor.source for line in lines for anchor in line.published)
    return {source: number for number, source in enumerate(sources, start=1)}


def _version(anchor: Anchor) -> str:
    """The number of rows of a score on an older version of the data set; else empty."""
    return f" ({so_many(anchor.rows) if anchor.rows else 'first version'})" * anchor.outdated


def _part(summary: Summary | None, name: str, shown: Callable[[Any], str] = str) -> str:
    return _text(getattr(summary, name, None), shown)


def _text(value: Any, shown: Callable[[Any], str] = str) -> str:
    return "" if value is None else shown(value)


def _joined(pairs: Iterable[tuple[K, str]]) -> dict[K, str]:
    texts: dict[K, dict[str, None]] = {}
    for key, text in pairs:
        texts.setdefault(key, {})[text] = None
    return {key: ", ".join(of_key) for key, of_key in texts.items()}

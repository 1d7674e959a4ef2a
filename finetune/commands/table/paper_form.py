"""The form of the paper's Table 1 (Devlin et al. 2019): systems as rows, tasks as columns, and their average.

Our scores on dev, published ones on dev and published ones on test are groups of rows that are never mixed.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence

from finetune.analysis.form import Form
from finetune.commands.table.columns import sources
from finetune.commands.table.declaration import PaperTable, TableRow
from finetune.commands.table.forms import about_runs, runs_behind
from finetune.commands.table.lines import TableLine
from finetune.data.messages import so_many
from finetune.errors import UserError

OURS, OUR_TEST = "ours, on dev", "ours, on test"
DEV, TEST = "published, on dev", "published, on test"
BASELINES = "baselines of our runs, on dev"
SIMPLE = "majority or mean"  # a constant prediction, for labels or numbers

Key = tuple[str, str]  # name and metric of a row
Scores = Mapping[Key, tuple[float, str]]  # of a system: in points, and as they are shown


def paper_form(table: PaperTable, lines: Sequence[TableLine]) -> Form:
    """A row for each system. Raises UserError for a table whose rows name no columns."""
    rows = [row for row in table.row if row.column]
    if not rows:
        raise UserError(f"the table '{table.title}' has no form with tasks as columns", "Leave `form` out")
    every = [(row.name, row.metric) for row in rows]
    mine = [line for line in lines if line.key in every]
    systems = _systems(mine)
    ours = {name: scores for (group, name), scores in systems.items() if group == OURS}
    common = [key for key in every if ours and all(key in scores for scores in ours.values())]
    some = common if 1 < len(common) < len(every) else []
    averages = {"Avg": every} | ({f"Avg of {len(some)}": some} if some else {})
    averages = {name: keys for name, keys in averages.items() if any(_average(one, keys) for one in systems.values())}
    columns: dict[str, list[Key]] = {}
    for row in rows:
        columns.setdefault(row.column, []).append((row.name, row.metric))
    cells = [
        [
            *system,
            *(_joined(scores, keys) for keys in columns.values()),
            *(_average(scores, keys) for keys in averages.values()),
        ]
        for system, scores in systems.items()
    ]
    return Form(
        title=table.title, header=("scores", "system", *columns, *averages), rows=cells, left=2, grouped=True,
        notes=list(_notes(rows, mine, ours, averages)), behind=runs_behind(mine),
    )  # fmt: skip


def _systems(lines: Sequence[TableLine]) -> dict[tuple[str, str], Scores]:
    """The scores of each system by group and name, with the number of its source: ours first, the published last."""
    found: dict[tuple[str, str], dict[Key, tuple[float, str]]] = {}
    numbers = sources(lines)
    for line in lines:
        ours = [(OURS, line.model, line.dev), (OUR_TEST, line.model, line.test)]
        given = [(group, name, summary.mean) for group, name, summary in ours if summary is not None]
        given += [(BASELINES, name, score) for name, score in _baselines(line).items()]
        for group, anchors in ((DEV, line.published_dev), (TEST, line.published_test)):
            given += [(group, f"{line.model} [{numbers[one.source]}]", one.score) for one in anchors]
        for group, name, score in given:
            found.setdefault((group, name), {})[line.key] = line.metric.scaled(score), line.metric.shown(score)
    return dict(sorted(found.items(), key=lambda one: (OURS, BASELINES, OUR_TEST, DEV, TEST).index(one[0][0])))


def _baselines(line: TableLine) -> Mapping[str, float]:
    """The mean of each baseline over a line's runs."""
    scores: dict[str, list[float]] = {}
    for run in line.runs:
        for method, given in run.baselines[line.split].items():
            name = "TF-IDF" if method.startswith("tfidf") else SIMPLE if method in ("majority", "mean") else method
            scores.setdefault(name, []).append(given[line.metric.name])
    return {name: statistics.fmean(each) for name, each in scores.items()}


def _joined(scores: Scores, keys: Sequence[Key]) -> str:
    """The scores of a column, separated by slashes; empty if there are none."""
    shown = [scores[key][1] if key in scores else "–" for key in keys]
    return "/".join(shown) if any(key in scores for key in keys) else ""


def _average(scores: Scores, keys: Sequence[Key]) -> str:
    """Empty where the system lacks a score."""
    return f"{statistics.fmean(scores[key][0] for key in keys):.1f}" if all(key in scores for key in keys) else ""


def _notes(
    rows: Sequence[TableRow],
    lines: Sequence[TableLine],
    ours: Mapping[str, Scores],
    averages: Mapping[str, Sequence[Key]],
) -> Iterator[str]:
    metrics: dict[str, list[str]] = {}
    for row in rows:
        names = metrics.setdefault(row.metric, [])
        names += [row.name] * (row.name not in names)
    of = "; ".join(f"{metric} of {', '.join(names)}" for metric, names in metrics.items())
    yield f"Scores in points: {of}. Ours are means of our runs."
    for name, keys in averages.items():
        if len(keys) == len(rows):
            lacking = _lacking(rows, ours)
            yield f"{name}: of all {len(rows)} scores; empty where a system lacks one{lacking}."
        else:
            yield f"{name}: of {', '.join(row for row, _ in keys)}, which all of ours have."
    yield from _numbers_of_runs(lines)
    yield from about_runs(lines)
    if any(anchor.hidden for line in lines for anchor in line.published_test):
        yield "On test: scored by a server on hidden labels; not comparable with dev."
    old = [line.name for line in lines if any(one.outdated for one in (*line.published_dev, *line.published_test))]
    if old:
        yield f"Published scores of {', '.join(dict.fromkeys(old))} may be of an older version of the data set."
    yield from (f"[{number}] {source}" for source, number in sources(lines).items())


def _lacking(rows: Sequence[TableRow], ours: Mapping[str, Scores]) -> str:
    """` (minilm: QQP, QNLI)`: what our systems lack."""
    lacks = {
        name: ", ".join(dict.fromkeys(row.name for row in rows if (row.name, row.metric) not in scores))
        for name, scores in ours.items()
    }
    given = "; ".join(f"{name}: {names}" for name, names in lacks.items() if names)
    return f" ({given})" if given else ""


def _numbers_of_runs(lines: Sequence[TableLine]) -> Iterator[str]:
    """`minilm: 3 runs of CoLA, MRPC; 1 run of SST-2`."""
    counts: dict[str, dict[str, list[str]]] = {}
    for line in lines:
        if line.runs:
            tried = "" if line.choices == 1 else f", best of {line.choices} settings on {line.split},"
            counts.setdefault(line.model, {}).setdefault(f"{so_many(len(line.runs), 'run')}{tried}", []).append(
                line.name
            )
    for model, names in counts.items():
        some = (f"{count} of {', '.join(dict.fromkeys(of))}" for count, of in names.items())
        yield f"{model}: {'; '.join(some)}."

"""The form of the paper's Table 1 (Devlin et al. 2019): systems as rows, tasks as columns, and their average.

Our scores on dev, published ones on dev and published ones on test are groups of rows that are never mixed.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from finetune.analysis.published import Anchor
from finetune.commands.table.paper_table import PaperTable, TableLine, TableRow
from finetune.commands.table.paper_table_formats import Form, about_runs, runs_behind, sources
from finetune.data.messages import so_many
from finetune.errors import UserError

OURS, OUR_TEST = "ours, on dev", "ours, on test"
DEV, TEST = "published, on dev", "published, on test"
BASELINES = "baselines of our runs, on dev"
SIMPLE = "majority or mean"  # a constant prediction, for labels or numbers

Key = tuple[str, str]  # name and metric of a row


@dataclass(frozen=True, kw_only=True)
class SystemScores:
    """Scores of a system in points, and as they are shown, by row; `number` is that of its source."""

    group: str
    name: str
    number: int | None = None
    points: dict[Key, float] = field(default_factory=dict)
    shown: dict[Key, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name, with the number of the source."""
        return self.name if self.number is None else f"{self.name} [{self.number}]"

    def add(self, line: TableLine, score: float) -> None:
        """Adds the score of a line's row."""
        key = (line.name, line.metric.name)
        self.points[key], self.shown[key] = line.metric.scaled(score), line.metric.shown(score)


def paper_form(table: PaperTable, lines: Sequence[TableLine]) -> Form:
    """A row for each system. Raises UserError for a table whose rows name no columns."""
    rows = [row for row in table.row if row.column]
    if not rows:
        raise UserError(f"the table '{table.title}' has no form with tasks as columns", "Leave `form` out")
    mine = [line for line in lines if any(_is_of(line, row) for row in rows)]
    systems = sorted(_systems(mine), key=lambda one: (OURS, BASELINES, OUR_TEST, DEV, TEST).index(one.group))
    every = [(row.name, row.metric) for row in rows]
    ours = [one for one in systems if one.group == OURS]
    common = [key for key in every if ours and all(key in one.points for one in ours)]
    some = common if 1 < len(common) < len(every) else []
    averages = {"Avg": every} | ({f"Avg of {len(some)}": some} if some else {})
    by_column: dict[str, list[Key]] = {}
    for row in rows:
        by_column.setdefault(row.column, []).append((row.name, row.metric))
    cells = [
        [one.group, one.title, *(_joined(one, keys) for keys in by_column.values()), *_averages(one, averages)]
        for one in systems
    ]
    return Form(
        title=table.title, header=("scores", "system", *by_column, *averages), rows=cells, left=2, grouped=True,
        notes=list(_notes(rows, mine, ours, some)), behind=runs_behind(mine),
    )  # fmt: skip


def _is_of(line: TableLine, row: TableRow) -> bool:
    return (line.name, line.metric.name) == (row.name, row.metric)


def _systems(lines: Sequence[TableLine]) -> Iterator[SystemScores]:
    """Our models and their baselines; then each model of each source."""
    found: dict[tuple[str, str, int | None], SystemScores] = {}
    numbers = sources(lines)

    def add(group: str, name: str, line: TableLine, score: float, source: str = "") -> None:
        key = (group, name, numbers.get(source))
        found.setdefault(key, SystemScores(group=group, name=name, number=key[2])).add(line, score)

    for line in lines:
        for group, ours in ((OURS, line.dev), (OUR_TEST, line.test)):
            if ours is not None:
                add(group, line.model, line, ours.mean)
    for line in lines:
        for name, score in _baselines(line).items():
            add(BASELINES, name, line, score)
        for group, anchors in ((DEV, line.published_dev), (TEST, line.published_test)):
            for anchor in anchors:
                add(group, line.model, line, anchor.score, anchor.source)
    yield from found.values()


def _baselines(line: TableLine) -> Mapping[str, float]:
    """The mean of each baseline over a line's runs."""
    scores: dict[str, list[float]] = {}
    for run in line.runs:
        for method, given in run.baselines[line.split].items():
            name = "TF-IDF" if method.startswith("tfidf") else SIMPLE if method in ("majority", "mean") else method
            scores.setdefault(name, []).append(given[line.metric.name])
    return {name: statistics.fmean(each) for name, each in scores.items()}


def _joined(system: SystemScores, keys: Sequence[Key]) -> str:
    """The scores of a column, separated by slashes; empty if there are none."""
    shown = [system.shown.get(key, "–") for key in keys]
    return "/".join(shown) if any(key in system.shown for key in keys) else ""


def _averages(system: SystemScores, averages: Mapping[str, Sequence[Key]]) -> Iterator[str]:
    """Each average; empty where the system lacks a score."""
    for keys in averages.values():
        known = [system.points[key] for key in keys if key in system.points]
        yield f"{statistics.fmean(known):.1f}" if len(known) == len(keys) else ""


def _notes(
    rows: Sequence[TableRow], lines: Sequence[TableLine], ours: Sequence[SystemScores], some: Sequence[Key]
) -> Iterator[str]:
    metrics: dict[str, list[str]] = {}
    for row in rows:
        names = metrics.setdefault(row.metric, [])
        names += [row.name] * (row.name not in names)
    of = "; ".join(f"{metric} of {', '.join(names)}" for metric, names in metrics.items())
    yield f"Scores in points: {of}. Ours are means of our runs."
    yield f"Avg: of all {len(rows)} scores, as in the paper; empty where a system lacks one{_lacking(rows, ours)}."
    if some:
        yield f"Avg of {len(some)}: of {', '.join(name for name, _ in some)}, which all of ours have."
    yield from _numbers_of_runs(lines)
    yield from about_runs(lines)
    if any(line.published_test for line in lines):
        yield "On test: scored by a server on hidden labels; not comparable with dev."
    old = [line.name for line in lines if any(map(_is_old, (*line.published_dev, *line.published_test)))]
    if old:
        yield f"Published scores of {', '.join(dict.fromkeys(old))} may be of an older version of the data set."
    yield from (f"[{number}] {source}" for source, number in sources(lines).items())


def _is_old(anchor: Anchor) -> bool:
    return anchor.outdated


def _lacking(rows: Sequence[TableRow], ours: Sequence[SystemScores]) -> str:
    """` (minilm: QQP, QNLI)`: what our systems lack."""
    lacks = {
        one.name: ", ".join(dict.fromkeys(row.name for row in rows if (row.name, row.metric) not in one.points))
        for one in ours
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

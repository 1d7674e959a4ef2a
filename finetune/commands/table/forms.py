"""The forms of a table as it is printed: a row a model and task, or a row a system of a recipe on each score."""

from collections.abc import Iterator, Sequence

from finetune.analysis.form import Form
from finetune.commands.table.columns import COST, HIDDEN, Columns, paired_columns, runs_columns, sources
from finetune.commands.table.declaration import PaperTable
from finetune.commands.table.lines import TableLine
from finetune.data.messages import noun
from finetune.runs.dev_choices import is_optimistic
from finetune.runs.lineage import SEEDS
from finetune.runs.recipe_diff import settings_of

COST_NOTE = (
    "Cost: device time (seconds times devices) is the mean of a run, memory is the most of any run. "
    "Blank without a GPU, and where a record has none."
)


def runs_form(table: PaperTable, lines: Sequence[TableLine], *, cost: bool = False) -> Form:
    """A row for each model on each task, with the spread over seeds, the verdict, and with what runs `cost`."""
    columns = {**runs_columns(lines), **(COST if cost else {})}
    option = " --form runs" * any(row.column for row in table.row) + " --cost" * cost
    return Form(
        title=table.title, header=list(columns), rows=_rows(lines, columns), left=3, option=option,
        notes=[*_notes_on_runs(table, lines), *[COST_NOTE] * cost], behind=runs_behind(lines),
    )  # fmt: skip


def paired_form(table: PaperTable, lines: Sequence[TableLine]) -> Form:
    """A row for each system of a recipe on each score, grouped by score, with the difference to the first."""
    names = list(dict.fromkeys(name for line in lines for name in line.names))
    columns = paired_columns(lines, names, table.control)
    return Form(
        title=table.title, header=list(columns), rows=_rows(lines, columns), left=1 + len(names), grouped=True,
        notes=_notes_on_pairs(table, lines), behind=runs_behind(lines),
    )  # fmt: skip


def _rows(lines: Sequence[TableLine], columns: Columns) -> list[list[str]]:
    return [[cell(line) for cell in columns.values()] for line in lines]


def _notes_on_runs(table: PaperTable, lines: Sequence[TableLine]) -> list[str]:
    """Notes below a table: the rule of the verdict, the marks, the sources."""
    over = "folds, which share most of their training rows" if any(row.over for row in table.row) else "seeds"
    notes = [
        f"Scores in points; dev and test: mean ± standard deviation of our runs over {over}.",
        "Failed: number of runs no better than the majority class.",
        rule(table),
        *about_runs(lines),
    ]
    if any(anchor.hidden for line in lines for anchor in line.published_test):
        notes.append(f"{HIDDEN} scored by a server on hidden labels; not comparable with dev.")
    if any(anchor.outdated for line in lines for anchor in (*line.published_dev, *line.published_test)):
        notes.append("(rows) or (first version) after a score: it is of an older version of the data set.")
    return notes + [f"[{number}] {source}" for source, number in sources(lines).items()]


def about_runs(lines: Sequence[TableLine]) -> Iterator[str]:
    """Caveats on our scores, with the lines they apply to."""
    if any(line.dev is not None and line.dev.n > 1 and line.dev.interval is None for line in lines):
        yield "Several runs with equal scores have no interval: another seed may score differently."
    names = [f"{line.name} {line.metric.name}, {line.model}" for line in lines]
    optimistic = [name for name, line in zip(names, lines, strict=True) if any(map(is_optimistic, line.runs))]
    if optimistic:
        yield f"Epoch or threshold chosen on dev, so these dev scores are optimistic: {'; '.join(optimistic)}."
    fitted = [name for name, line in zip(names, lines, strict=True) if any(run.cross_fitted for run in line.runs)]
    if fitted:
        yield f"Cross-fitted: scored on dev with thresholds chosen on other rows of dev: {'; '.join(fitted)}."


def runs_behind(lines: Sequence[TableLine]) -> list[str]:
    """The runs of each line and their settings that differ from the defaults, except seeds."""
    found = []
    for line in filter(lambda line: line.runs, lines):
        changed = [one for one in settings_of(line.runs) if one.changed and one.key not in (*SEEDS, "model")]
        settings = ", ".join(f"{one.key} {' or '.join(dict.fromkeys(map(str, one.values)))}" for one in changed)
        runs = ", ".join(run.id for run in line.runs)
        found.append(f"{line.name}, {line.model}: {settings or 'defaults'}; {noun(len(line.runs), 'run')} {runs}")
    return list(dict.fromkeys(found))  # two metrics of the same runs are one line


def rule(table: PaperTable) -> str:
    """The rule of the verdict, in words."""
    over = "folds" if any(row.over for row in table.row) else "seeds"
    within = f"{table.margin:g} {noun(table.margin, 'point')}"
    return (
        f"Verdict: equal if the whole 95 % interval of our mean (Student's t over {over}) is within {within} of the "
        f"published score, lower or higher if it is entirely outside, else undecided (always so for one run). "
        f"The published score is taken as exact."
    )


def _notes_on_pairs(table: PaperTable, lines: Sequence[TableLine]) -> list[str]:
    first = table.system[0].name
    pairs = {one.difference.n for one in lines if one.difference is not None}
    of = f" ({' or '.join(map(str, sorted(pairs)))} here)" if pairs else ""
    in_points = ", in points" * all(one.metric.scale == 100 for one in lines)
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
    if pairs and max(len(one.runs) for one in lines) > min(pairs):
        notes.append("A run without a partner of the same seed, data and precision counts in dev, not in the change.")
    return [*notes, *about_runs(lines)]

"""`finetune check`: what is wrong with data, or what the run of a recipe would use, before anything is trained."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from finetune.analysis.run_tables import STYLES, layout_table
from finetune.analysis.table import Line, Next, Part, facts_table
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import in_memory, is_path, recipe_settings
from finetune.api.parameters import Cli, Columns, DataFolder
from finetune.api.planning import loading
from finetune.commands.check.findings import Findings, findings_of
from finetune.commands.check.fix import require_place_for_copy
from finetune.data.detect import BY_SUFFIX
from finetune.data.messages import places, size_words
from finetune.data.paths import is_data
from finetune.data.source import source_of
from finetune.data.writing import written_suffix
from finetune.errors import UserError
from finetune.runs.events import Forecast
from finetune.runs.settings import typed_settings
from finetune.task_types.first_rows import describe_rows, file_line
from finetune.task_types.pretraining.own import column_words
from finetune.training.first_runs import with_first_runs, with_parents
from finetune.training.targets import expand_targets

ROWS_SHOWN = 5  # row numbers of a finding
THE_DATA = "the data"  # in memory


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What the run of a recipe would use: facts by section, the first rows as tokens with a label, what it takes."""

    facts: Mapping[str, Mapping[str, Any]]
    examples: Sequence[Mapping[str, Any]]
    forecast: Forecast | None = None


@plainly
def check(
    *data: Annotated[Any, Cli(least=1, recipes=True, help="A recipe or your data, and settings as key=value.")],
    text: Columns = None,
    label: Columns = None,
    data_folder: DataFolder = None,
    limit: Annotated[int | None, Cli(setting=True, names=("--limit",))] = None,
    device: str | None = None,
    fix: str | Path | None = None,
    force: bool = False,
    out: str | Path = "results",
    **settings: Any,
) -> Findings | list[Preview]:
    """Checks data, or reads what the run of a recipe would use.

    Example: `finetune.check(df, text="review", label="stars")`

    Args:
        *data: The path of a file or folder, rows in memory as for `finetune.run`, or names of recipes.
        text: The column of the text, or the columns of several.
        label: The column of the label, or for several labels a row their columns.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        limit: For a recipe: use at most N rows of each split.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        fix: For data: write a fixed copy to this file.
        force: Replace a file that this command did not write.
        out: The folder of the runs that are named.
        **settings: Settings of a run, such as `model` or `max_length`, by which texts that are too long are found.

    Returns:
        The findings, of which `findings.fails()` says whether one is an error; for recipes a preview of each run.

    Raises:
        UserError: For data that cannot be read, columns that it does not have, and a recipe that cannot be run.
    """
    wanted = recipe_settings(settings, text=text, label=label) | ({} if limit is None else {"limit": limit})
    names, folder = [str(part) for part in data if is_path(part)], Path(out)
    if len(names) == len(data) and not any(map(is_data, names)):
        if fix is not None:
            raise UserError("`fix` applies to data", "Name an existing data file")
        return _previews(names, wanted, folder, data_folder, device)
    if len(data) > 1:
        listed = " and ".join(names) if len(names) == len(data) else THE_DATA
        raise UserError(f"{listed} are {len(data)} things to check", "Check one at a time")
    with ExitStack() as stack:
        path = names[0] if names else _in_file(data[0], stack)
        if fix is not None:
            require_place_for_copy(Path(fix), path, force=force)
        report = replace(findings_of(path, wanted, folder), device=device)
        if fix is not None:
            report = replace(report, copy=Path(fix), fixes=report.fix(fix, force=force))
    if names:
        return report
    of_data = [
        replace(finding, what=finding.what.replace(path, THE_DATA), file=THE_DATA) for finding in report.findings
    ]
    return replace(report, findings=tuple(of_data), target=THE_DATA)


def _in_file(data: Any, stack: ExitStack) -> str:
    """A file with rows in memory, which is there until the stack ends."""
    return str(stack.enter_context(in_memory(data, Path(stack.enter_context(tempfile.TemporaryDirectory())))))


def _previews(
    names: list[str], settings: dict[str, Any], out: Path, data_folder: str | Path | None, device: str | None
) -> list[Preview]:
    """What runs would use; one from another run's encoder is checked with that one's own model, of the same vocabulary
    and size.
    """
    planned = with_parents(with_first_runs(expand_targets(names, settings), out))
    with here().working(loading(planned)):
        from finetune.commands.check.recipe import check_recipe

        return [Preview(**check_recipe(run, source=source_of(data_folder), device=device)) for run in planned]


def exit_code(result: Findings | list[Preview], *, strict: bool = False) -> int:
    """1 for data with an error."""
    return int(isinstance(result, Findings) and result.fails(strict=strict))


def as_json(result: Findings | list[Preview]) -> Iterator[Mapping[str, Any]]:
    """`files`, `format`, `rows` by split, `layout`: columns; `findings`: `severity` (error, warning, note), `code`,
    `message`, `remedy`, `file`, `rows`, `lines`, `count`; `counts` by severity; without an error a forecast as of a
    recipe; or of a recipe a run a line: `facts`, `examples`, `forecast` (seconds, peak_memory_bytes, metric, score:
    a range) or null.
    """
    if not isinstance(result, Findings):
        yield from map(asdict, result)
        return
    if result.corpus is not None:
        what: dict[str, Any] = {"corpus": result.corpus}
    else:
        what = {
            "files": {part.split: part.file for part in result.parts},
            "format": {part.split: str(part.table.form) for part in result.parts},
            "rows": {part.split: part.size for part in result.parts},
        }
    listed = [finding.as_json() for finding in result.findings]
    told = {} if result.copy is not None or result.forecast is None else {"forecast": asdict(result.forecast)}
    copy = {} if result.copy is None else {"fixed": str(result.copy), "fixes": result.fixes}
    yield what | {"layout": asdict(result.layout), "findings": listed, "counts": result.counts} | told | copy


def shown(result: Findings | list[Preview], *, strict: bool = False) -> Iterator[Part]:  # noqa: ARG001 - of exit_code
    """Findings in data, or facts of a recipe.

    Args:
        strict: For data: exit with 1 on warnings too.
    """
    if isinstance(result, Findings):
        yield from _report_parts(result)
        yield from _next_parts(result)
        return
    for preview in result:
        for title, facts in preview.facts.items():
            yield facts_table(title, facts)
        if preview.forecast is not None:
            yield Line(f"a run: {preview.forecast.words}")
        for example in preview.examples:
            yield from map(Line, (*map(" ".join, example["tokens"]), f"-> {example['label']}"))


def _report_parts(report: Findings) -> Iterator[Part]:
    """Files, first rows, columns, findings after their coloured codes, and their counts."""
    for part in report.parts:
        yield Line(file_line(part.split, part.table))
    for part in report.parts[:1]:
        yield from map(Line, describe_rows(report.layout, part.table, split=part.by_column))
        yield layout_table(report.layout)
    if (corpus := report.corpus) is not None:
        counts = {name: f"{corpus[name]:,}" for name in ("documents", "lines")}
        yield facts_table("text", {"column": column_words(report.layout), **counts, "size": size_words(corpus["size"])})
    for finding in report.findings:
        code = f"{finding.severity} {finding.code}"
        yield Line(f"{code}: {finding.what}", STYLES[finding.severity], styled=len(code))
        rows = list(zip(finding.rows, finding.lines, strict=True))
        where = f": {places(rows, most=ROWS_SHOWN, count=finding.count)}" if finding.count else ""
        yield Line(f"  {finding.file}{where}")
        yield Line(f"  -> {finding.remedy}")
    yield report.counted


def _next_parts(report: Findings) -> Iterator[Part]:
    """What was fixed, then what to do next: train if there is no error, else fix."""
    if (copy := report.copy) is None:
        if report.forecast is not None:
            yield Line(f"a run: {report.forecast.words}")
        suffix, typed = written_suffix(Path(report.target)), typed_settings(report.settings)
        file = f"fixed{suffix if suffix in BY_SUFFIX else '.csv'}"
        training = [] if report.counts["error"] else [["run", report.target, *typed]]
        fixing = [["check", report.target, *typed, "--fix", file]] if report.findings else []
        yield Next([*training, *fixing])
        return
    yield facts_table(str(copy), report.fixes or {"fixed": "no fixes needed; file copied"})
    settings = {name: value for name, value in report.settings.items() if name != "encoding"}
    yield Next([["check", str(copy), *typed_settings(settings)], ["run", str(copy), *typed_settings(settings)]])

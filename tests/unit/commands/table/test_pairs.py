"""Tables of a recipe: which runs are those of its rows, and what is compared with the first."""

from dataclasses import replace
from typing import Any

import pytest
from scipy import stats
from support.records import made_record

from finetune.commands.table import table
from finetune.commands.table.declaration import PaperTable, load_table, table_files
from finetune.commands.table.forms import paired_form
from finetune.commands.table.lines import TableLine, paired_lines
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.runs.settings import Lineage
from finetune.task_types.registry import available
from finetune.task_types.resolved_run import ResolvedRun

TABLE = PaperTable.model_validate(
    {
        "title": "T",
        "source": "Devlin et al. 2019, Table 5",
        "recipe": "small",
        "system": [
            {"name": "mlm", "settings": {"model": "first"}, "paper": "No NSP"},
            {"name": "ltr", "settings": {"model": "first objective=ltr"}, "paper": "LTR & No NSP"},
        ],
        "row": [
            {"name": "M", "task": "mrpc", "metric": "accuracy"},
            {"name": "LM", "task": "corpus", "metric": "perplexity", "published": {"No NSP": 4.68}},
        ],
    }
)
OBJECTIVES = {"first": "mlm", "first objective=ltr": "ltr"}


def first_recipe(model: str, seed: int) -> Recipe:
    return Recipe(task="corpus", model="new:2x128", seed=seed, options={"objective": OBJECTIVES[model]})


def recipe(model: str, seed: int) -> Recipe:
    return Recipe(task="mrpc", model=model, seed=seed, limit=100)


def planned(model: str, seed: int) -> ResolvedRun:
    task = available()["mrpc"]
    corpus = replace(task, name="corpus")
    first = ResolvedRun(name="first", recipe=first_recipe(model, seed), default=corpus, task=corpus)
    return ResolvedRun(name="small", recipe=recipe(model, seed), default=task, task=task, first=first)


PLAN = [planned(model, seed) for seed in (1, 2, 3) for model in OBJECTIVES]


def record(model: str, seed: int, score: float, *, of: int | None = None, **facts: Any) -> RunRecord:
    """A run of a system, whose encoder is of the run with the seed `of`."""
    settings = {"options.objective": OBJECTIVES[model], "seed": of or seed}
    lineage = Lineage(
        run="0" * 10, task="corpus", task_version=1, data="c", model="new:2x128", weights="w", precision="fp32",
        seed=of or seed, settings=settings,
    )  # fmt: skip
    given: dict[str, Any] = {"recipe": recipe(model, seed).model_dump(exclude={"grid"}), "lineage": lineage}
    scores = {"dev": {"accuracy": score}}
    return made_record("mrpc", model=model, rows={"dev": 100}, scores=scores, baselines={"dev": {}}, **given | facts)


def lines_of(*records: RunRecord) -> list[TableLine]:
    return paired_lines(TABLE, records, PLAN)


def test_differences_are_of_pairs_with_the_same_seed() -> None:
    before, after = {1: 0.5, 2: 0.7, 3: 0.6}, {3: 0.61, 1: 0.52, 2: 0.73}
    first, second, *_ = lines_of(
        *(record("first", seed, score) for seed, score in before.items()),
        *(record("first objective=ltr", seed, score) for seed, score in after.items()),
    )
    assert (first.difference, first.paper, first.paper_difference) == (None, 86.5, None)
    assert second.difference is not None
    expected = stats.ttest_rel([0.52, 0.73, 0.61], [0.5, 0.7, 0.6]).confidence_interval()
    assert second.difference.interval == pytest.approx((expected.low, expected.high))
    assert second.paper_difference == pytest.approx(-9.0)
    form = paired_form(TABLE, [first, second])
    assert [len(row) for row in form.rows] == [len(form.columns)] * 2
    assert form.rows[1][3] == "62.0"
    half = 100 * second.difference.half
    assert form.rows[1][4:] == ["+2.0", f"{2 - half:+.1f} to {2 + half:+.1f}", f"{half:.1f}", "77.5 (-9.0)"]


def test_a_table_may_have_a_control_that_is_not_its_first_system() -> None:
    controlled = PaperTable.model_validate(TABLE.model_dump(exclude_unset=True) | {"control": "ltr"})
    scores = {"first": (0.5, 0.7, 0.6), "first objective=ltr": (0.52, 0.73, 0.61)}
    runs = [record(name, seed, score) for name, each in scores.items() for seed, score in enumerate(each, start=1)]
    first, second, *_ = paired_lines(controlled, runs, PLAN)
    assert first.difference is None and second.from_control is None
    assert first.from_control is not None and second.difference is not None
    assert first.from_control.mean == pytest.approx(-second.difference.mean)
    form = paired_form(controlled, [first, second])
    assert [row[form.columns.index("from ltr")] for row in form.rows] == ["-2.0 (-4.5 to +0.5)", ""]


def test_a_system_may_have_runs_of_several_settings() -> None:
    either = PaperTable.model_validate(TABLE.model_dump(exclude_unset=True))
    either.system[1].settings["model"] = ["another", "first objective=ltr"]
    runs = [record("first objective=ltr", seed, 0.5 + seed / 10) for seed in (1, 2, 3)]
    assert [len(line.runs) for line in paired_lines(either, runs, PLAN)] == [len(line.runs) for line in lines_of(*runs)]
    assert len(paired_lines(either, runs, PLAN)[1].runs) == 3


def test_other_runs_are_not_those_of_the_recipe() -> None:
    ours = [record("first", 1, 0.5), record("first objective=ltr", 1, 0.6), record("first objective=ltr", 2, 0.6)]
    lineage = ours[0].lineage
    assert lineage is not None
    others = [
        record(
            "first", 2, 0.9, recipe=recipe("first", 2).model_copy(update={"limit": 99}).model_dump(exclude={"grid"})
        ),
        record("first", 2, 0.9, of=1),  # the encoder of another seed
        record("first", 2, 0.9, lineage=None),
        record("first", 2, 0.9, lineage=replace(lineage, seed=2, model="new:4x256")),
    ]
    first, second, *_ = lines_of(*ours, *others)
    assert [one.scores["dev"]["accuracy"] for one in first.runs] == [0.5]
    assert len(second.runs) == 2
    assert second.difference is not None
    assert (second.difference.n, second.difference.interval) == (1, None)
    assert any("without a partner" in note for note in paired_form(TABLE, [first, second]).notes)
    assert not any("without a partner" in note for note in paired_form(TABLE, lines_of(*ours[:2])).notes)
    newer = record("first", 1, 0.55, finished="2026-02-01T00:00:00+00:00")
    assert [one.scores["dev"]["accuracy"] for one in lines_of(newer, *ours)[0].runs] == [0.55]
    apart = record("first objective=ltr", 1, 0.6, data="other")
    assert lines_of(ours[0], apart)[1].difference is None


def test_runs_that_are_missing_are_counted() -> None:
    lines = lines_of(record("first", 1, 0.5))
    rows = paired_form(TABLE, lines).rows
    assert [row[2] for row in rows] == ["1 of 3", "0 of 3", "0 of 3", "0 of 3"]
    assert rows[2][-1] == "4.68"


RECIPES = [name for name in table_files() if load_table(name).recipe]


@pytest.mark.parametrize("name", RECIPES)
def test_every_system_of_a_shipped_table_has_runs_in_its_recipe_or_scores_in_the_paper(name: str) -> None:
    found = table(name, out="no results here")
    mine = {one.model: one for one in found.lines}
    assert list(mine) == [system.name for system in found.table.system]
    assert all(one.planned > 0 or one.paper is not None for one in found.lines)
    ours = [one for one in found.lines if one.planned]
    rows = {one.row.name for one in ours}
    assert len(ours) == len(rows) * len({one.model for one in ours}), "a system lacks a score that others have"
    assert "are missing: finetune run " in found.note
    if name.startswith("table-"):
        assert {one.planned for one in ours} <= {3, 4}


def test_there_are_tables_of_recipes() -> None:
    assert {"table-5", "table-6", "table-5-gpu", "table-6-gpu", "adaptation"} <= set(RECIPES)

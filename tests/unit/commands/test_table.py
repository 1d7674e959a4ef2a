"""Tables of results: verdicts, which runs and scores go into a row, differences of pairs, and faults.

`tests/golden/test_tables.py` has every shipped table byte for byte.
"""

from dataclasses import replace
from typing import Any

import pytest
from scipy import stats
from support.records import BASE, made_record, run

from finetune.analysis.published import anchors
from finetune.commands.table.declaration import PaperTable, load_table
from finetune.commands.table.lines import TableLine, lines_of, paired_lines
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.runs.settings import Lineage
from finetune.task_types.registry import available
from finetune.task_types.resolved_run import ResolvedRun

MRPC = PaperTable.model_validate({"title": "T", "row": [{"name": "MRPC", "task": "mrpc", "metric": "accuracy"}]})


def line_of(records: list[RunRecord], model: str = BASE) -> Any:
    (line,) = [line for line in lines_of(MRPC, records) if line.model == model]
    return line


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        ([0.866, 0.868], "undecided"),  # 86.7 with an interval of more than a point on either side
        ([0.8660, 0.8680, 0.8672, 0.8668], "equal"),
        ([0.8360, 0.8380, 0.8372, 0.8368], "lower"),
        ([0.8960, 0.8980, 0.8972, 0.8968], "higher"),
        ([0.8560, 0.8580, 0.8572, 0.8568], "undecided"),  # a point below: the interval lies on both sides of the edge
        ([0.867], "undecided"),
    ],
)
def test_a_verdict_needs_the_whole_interval(scores: list[float], verdict: str) -> None:
    line = line_of([run(score, seed=seed) for seed, score in enumerate(scores)])
    place = [anchor.score for anchor in line.published_dev].index(0.867)
    assert line.verdicts[place] == verdict


def test_published_scores_are_of_the_same_model_and_of_the_same_rows() -> None:
    ours = lines_of(MRPC, [run(0.8, model="minilm")])[0]
    assert (ours.model, ours.published, ours.verdicts) == ("minilm", [], [])
    assert set(line_of([run(0.86, rows=100), run(0.87, rows=100, seed=2)]).verdicts) == {"other rows"}
    runs = [run(score, seed=seed, task="qnli", rows=5463) for seed, score in enumerate((0.90, 0.901))]
    (line, *_) = [one for one in lines_of(load_table("glue"), runs) if one.row.name == "QNLI" and one.model == BASE]
    assert {anchor.source: anchor.rows for anchor in line.published_dev} == {
        "Devlin et al. 2019, Table 5 (BERT-BASE)": 5732, "model-recycling, mean of 20 seeds": 5463,
    }  # fmt: skip
    assert line.verdicts == ["other rows", "equal"]  # the paper's QNLI is the first version


def test_the_papers_averages_come_out_of_the_anchors() -> None:
    """Table 1's last column is the mean of the others, a check on their having been copied right."""
    for model, average in ((BASE, 79.6), ("google-bert/bert-large-uncased", 82.1), ("OpenAI GPT", 75.1)):
        metric = {"qqp": "f1", "mrpc": "f1", "cola": "matthews", "stsb": "spearman"}
        scores = []
        for task in ("mnli", "qqp", "qnli", "sst2", "cola", "stsb", "mrpc", "rte"):
            found = [a for a in anchors(task=task) if a.model == model and a.metric == metric.get(task, "accuracy")]
            scores += [a.score for a in found if a.split == "server"]
            scores += [a.score for a in found if a.split == "server-mismatched"]
        assert len(scores) == 9
        assert 100 * sum(scores) / 9 == pytest.approx(average, abs=0.06)


SMALL = PaperTable.model_validate(
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


def small_run(model: str, seed: int, score: float, *, of: int | None = None, **facts: Any) -> RunRecord:
    """A run of a system, whose encoder is of the run with the seed `of`."""
    settings = {"options.objective": OBJECTIVES[model], "seed": of or seed}
    lineage = Lineage(
        run="0" * 10, task="corpus", task_version=1, data="c", model="new:2x128", weights="w", precision="fp32",
        seed=of or seed, settings=settings,
    )  # fmt: skip
    given: dict[str, Any] = {"recipe": recipe(model, seed).model_dump(exclude={"grid"}), "lineage": lineage}
    scores = {"dev": {"accuracy": score}}
    return made_record("mrpc", model=model, rows={"dev": 100}, scores=scores, baselines={"dev": {}}, **given | facts)


def pairs_of(*records: RunRecord) -> list[TableLine]:
    return paired_lines(SMALL, records, PLAN)


def test_differences_are_of_pairs_with_the_same_seed() -> None:
    before, after = {1: 0.5, 2: 0.7, 3: 0.6}, {3: 0.61, 1: 0.52, 2: 0.73}
    first, second, *_ = pairs_of(
        *(small_run("first", seed, score) for seed, score in before.items()),
        *(small_run("first objective=ltr", seed, score) for seed, score in after.items()),
    )
    assert (first.difference, first.paper, first.paper_difference) == (None, 86.5, None)
    assert second.difference is not None
    expected = stats.ttest_rel([0.52, 0.73, 0.61], [0.5, 0.7, 0.6]).confidence_interval()
    assert second.difference.interval == pytest.approx((expected.low, expected.high))
    assert second.paper_difference == pytest.approx(-9.0)


def test_other_runs_are_not_those_of_the_recipe() -> None:
    ours = [small_run("first", 1, 0.5), *(small_run("first objective=ltr", seed, 0.6) for seed in (1, 2))]
    lineage = ours[0].lineage
    assert lineage is not None
    others = [
        small_run("first", 2, 0.9, recipe=ours[0].recipe | {"seed": 2, "limit": 99}),
        small_run("first", 2, 0.9, of=1),  # the encoder of another seed
        small_run("first", 2, 0.9, lineage=None),
        small_run("first", 2, 0.9, lineage=replace(lineage, seed=2, model="new:4x256")),
    ]
    first, second, *_ = pairs_of(*ours, *others)
    assert [one.scores["dev"]["accuracy"] for one in first.runs] == [0.5]
    assert len(second.runs) == 2
    assert second.difference is not None
    assert (second.difference.n, second.difference.interval) == (1, None)
    newer = small_run("first", 1, 0.55, finished="2026-02-01T00:00:00+00:00")
    assert [one.scores["dev"]["accuracy"] for one in pairs_of(newer, *ours)[0].runs] == [0.55]
    apart = small_run("first objective=ltr", 1, 0.6, data="other")
    assert pairs_of(ours[0], apart)[1].difference is None

"""Tables of results: verdicts, which scores are shown together, and the kept files."""

from typing import Any

import pytest
from support.records import BASE, run

from finetune.analysis.published import anchors, published_for
from finetune.analysis.run_tables import summary_table
from finetune.commands.table.declaration import PaperTable, load_table, table_files
from finetune.commands.table.forms import numbers_of, runs_form
from finetune.commands.table.lines import left_out, lines_of
from finetune.metrics.scores import accuracy
from finetune.runs.record import RunRecord
from finetune.runs.seeds import failed, summarised
from finetune.task_types.registry import available


def test_equal_scores_have_no_interval() -> None:
    """Two seeds with one score do not show that a third has it too."""
    for scores in ([0.84, 0.84], [0.1 + 0.2, 0.3], [0.5] * 5):
        found = summarised(scores, accuracy)
        assert found.sd == pytest.approx(0)
        assert found.interval is None
    table = PaperTable.model_validate({"title": "T", "row": [{"name": "M", "task": "mrpc", "metric": "accuracy"}]})
    equal = [run(0.8407, seed=seed) for seed in (1, 2)]  # as the example of transformers has it
    lines = [line for line in lines_of(table, equal) if line.runs]
    assert set(lines[0].verdicts) == {"undecided"}
    assert "| 84.1 ± 0.0 |  |" in runs_form(table, lines).markdown("")
    assert "no interval" in runs_form(table, lines).markdown("")
    cells = summary_table(equal).rows[0]
    assert cells[6:9] == ["84.1", "0.0", ""]


def test_a_row_of_which_nothing_is_known_says_so() -> None:
    table = PaperTable.model_validate(
        {"title": "T", "row": [{"name": "R", "task": "unheard-of", "metric": "accuracy"}]}
    )
    assert "| R | accuracy |  | no run |" in runs_form(table, lines_of(table, [])).markdown("")


def test_a_run_at_the_majority_class_has_failed() -> None:
    assert [failed(run(score, majority=0.684), "dev") for score in (0.684, 0.5, 0.7)] == [True, True, False]
    tagged = run(0.9, task="conll-2003").model_copy(update={"baselines": {"dev": {"most-frequent-tag": {"f1": 0.5}}}})
    assert failed(tagged, "dev") is None


def test_runs_that_fit_no_row_are_named_with_the_reason() -> None:
    rows = [
        {"name": "fine-tuned", "task": "mrpc", "metric": "accuracy"},
        {
            "name": "feature-based",
            "task": "mrpc",
            "metric": "accuracy",
            "settings": {"frozen": True, "layers": "sum-all"},
        },
    ]
    table = PaperTable.model_validate({"title": "T", "row": rows})
    limited, other = run(0.8, limit=200), run(0.8, frozen=True)
    assert left_out(table, [limited]) == ["1 run of mrpc left out: other rows, settings or metrics"]
    assert left_out(table, [limited, other]) == ["2 runs of mrpc left out: other rows, settings or metrics"]
    assert left_out(table, [limited, run(0.8)]) == []
    assert left_out(table, [run(0.8, frozen=True, layers="sum-all")]) == []
    assert left_out(table, [run(0.8, task="rte")]) == []


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
    assert "is within 1 point of the published score" in str(runs_form(MRPC, [line]).notes)


def test_scores_on_an_earlier_version_of_a_set_say_how_many_rows_it_had() -> None:
    """The paper's QNLI is the first version; later sources have the second."""
    table = load_table("glue")
    ours = [run(score, seed=seed, task="qnli", rows=5463) for seed, score in enumerate((0.90, 0.901))]
    lines = [line for line in lines_of(table, ours) if line.row.name == "QNLI" and line.model == BASE]
    rows = {anchor.source: anchor.rows for anchor in lines[0].published_dev}
    assert rows == {"Devlin et al. 2019, Table 5 (BERT-BASE)": 5732, "model-recycling, mean of 20 seeds": 5463}
    assert lines[0].verdicts == ["other rows", "equal"]
    text = runs_form(table, lines).markdown("")
    assert "88.4 (5,732 rows) [1]; 89.9 [2]" in text
    assert "90.5† (first version) [3]" in text
    assert "older version" in text
    assert "Table 5 (BERT-BASE) (5,732 rows)" in numbers_of(lines[0])["sources"]
    assert {anchor.source for anchor in published_for(ours[0], "dev")} == {"model-recycling, mean of 20 seeds"}


def test_published_scores_are_of_the_same_model_and_dev_is_not_the_servers_test() -> None:
    lines = lines_of(MRPC, [run(0.8, model="minilm")])
    ours = lines[0]
    assert ours.model == "minilm"
    assert (ours.published, ours.verdicts) == ([], [])
    theirs = line_of([run(0.8, model="minilm")])
    assert theirs.dev is None
    assert theirs.verdicts == []
    assert {anchor.split for line in lines for anchor in line.published_dev} == {"dev"}
    assert set(line_of([run(0.86, rows=100), run(0.87, rows=100, seed=2)]).verdicts) == {"other rows"}
    squad = load_table("squad")
    other = [line for line in lines_of(squad, [run(0.7, task="squad-v1", rows=99)]) if line.model == BASE]
    assert set(other[0].verdicts) == {"other rows"}


def test_runs_on_part_of_the_data_and_other_kinds_of_model_are_left_out() -> None:
    assert line_of([run(0.9, limit=100)]).dev is None
    assert line_of([run(0.9, frozen=True)]).dev is None
    seven = load_table("table-7")
    documents = {"task": "conll-2003", "options": {"context": "document"}}
    records = [
        run(0.9, **documents),
        run(0.8, frozen=True, bilstm=True, layers="concat-last-4", **documents),
        run(0.7, frozen=True, bilstm=True, layers="last", **documents),
        run(0.6, task="conll-2003", options={"context": "sentence"}),
    ]
    found = {line.row.name: line.dev.mean for line in lines_of(seven, records) if line.dev is not None}
    assert found == {"fine-tuned": 0.9, "concat-last-4": 0.8, "last": 0.7}
    base = {line.row.name: line.published_dev for line in lines_of(seven, []) if "base" in line.model}
    assert [round(anchor.score, 3) for name in ("last", "weighted-sum-all") for anchor in base[name]] == [0.949, 0.955]


def test_a_metric_that_a_task_lacks_is_named() -> None:
    table = PaperTable.model_validate({"title": "T", "row": [{"name": "MRPC", "task": "mrpc", "metric": "acuracy"}]})
    assert left_out(table, [run(0.8)]) == ["1 run of mrpc left out: other rows, settings or metrics"]


def test_of_several_settings_the_best_on_dev_is_shown_and_said_to_be_chosen() -> None:
    rates = [run(score, train={"learning_rate": rate}) for rate, score in ((1e-5, 0.80), (2e-5, 0.84), (3e-5, 0.82))]
    assert line_of(rates).dev.mean == 0.84
    assert "| 1, best of 3 settings on dev | 0 | 84.0 |" in runs_form(MRPC, lines_of(MRPC, rates)).markdown("")


def test_every_table_loads_and_names_tasks_and_metrics_that_exist() -> None:
    tasks = available()
    assert {"glue", "squad", "ner", "choice", *(f"table-{number}" for number in range(1, 8))} <= set(table_files())
    for name in table_files():
        table = load_table(name)
        for row in table.row:
            assert row.metric in tasks[row.task].metric_names, (name, row)
            assert row.split in tasks[row.task].dev_splits, (name, row)
        assert f"# finetune table {name}\n" in table_files()[name].read_text()
        if name.startswith("table-") and not table.recipe:
            shown = [anchor for line in lines_of(table, []) for anchor in line.published]
            assert {anchor.source.split(" (")[0] for anchor in shown} == {
                f"Devlin et al. 2019, T{name[1:].replace('-', ' ')}"
            }


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

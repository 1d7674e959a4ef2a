"""Systems as rows and tasks as columns: what is never mixed, and averages over what a system has."""

import pytest
from support.records import BASE, run

from finetune.analysis.table import TextTable
from finetune.commands.table.declaration import load_table
from finetune.commands.table.forms import DEV, OURS, TEST, paper_form
from finetune.commands.table.lines import lines_of
from finetune.errors import UserError
from finetune.runs.record import RunRecord

GLUE = load_table("glue")
HEADER = ("scores", "system", "MNLI (m/mm)", "QQP", "QNLI", "SST-2", "CoLA", "STS-B", "MRPC", "RTE", "Avg")


def form_of(*records: RunRecord) -> TextTable:
    return paper_form(GLUE, lines_of(GLUE, records))


def rows_of(form: TextTable, group: str) -> dict[str, dict[str, str]]:
    """The filled cells of each system of a group, by heading."""
    return {
        row[1]: {name: cell for name, cell in zip(form.columns[2:], row[2:], strict=True) if cell}
        for row in form.rows
        if row[0] == group
    }


def test_published_test_scores_are_the_papers_with_its_average() -> None:
    """Table 1 has 79.6 and 82.1: the mean of nine scores, MNLI's two among them."""
    form = form_of()
    assert tuple(form.columns) == HEADER
    base, large = rows_of(form, TEST).values()
    assert base == dict(
        zip(HEADER[2:], ["84.6/83.4", "71.2", "90.5", "93.5", "52.1", "85.8", "88.9", "66.4", "79.6"], strict=True)
    )
    assert (large["MNLI (m/mm)"], large["Avg"]) == ("86.7/85.9", "82.1")
    assert OURS not in {row[0] for row in form.rows}


def test_ours_and_published_dev_and_published_test_are_never_in_one_row() -> None:
    form = form_of(run(0.9, task="sst2", model=BASE), run(0.7, task="rte", model=BASE))
    (ours,) = rows_of(form, OURS).values()
    assert ours == {"SST-2": "90.0", "RTE": "70.0", "Avg of 2": "80.0"}
    dev = rows_of(form, DEV)
    assert len(dev) == 3, "a row for each source"
    assert not {"90.0", "66.4"} & {cell for cells in dev.values() for cell in cells.values()}
    groups = [row[0] for row in form.rows]
    assert groups == sorted(groups, key=groups.index), "a group is in one piece"


def test_an_average_is_over_what_a_system_has_or_empty_with_the_reason() -> None:
    form = form_of(run(0.9, task="sst2", model="minilm"), run(0.7, task="rte", model="minilm"))
    (ours,) = rows_of(form, OURS).values()
    assert "Avg" not in ours
    assert any("minilm: MNLI-m, MNLI-mm, QQP, QNLI, CoLA, STS-B, MRPC" in note for note in form.notes)
    assert any(note.startswith("Avg of 2: of SST-2, RTE") for note in form.notes)
    cased = next(cells for name, cells in rows_of(form, DEV).items() if "cased" in name and "uncased" not in name)
    assert cased["Avg of 2"] == f"{(92.32 + 65.70) / 2:.1f}"
    assert "Avg of 2" not in next(cells for cells in rows_of(form, DEV).values() if "RTE" not in cells)


def test_a_mean_over_seeds_says_how_many() -> None:
    form = form_of(run(0.7, task="rte", seed=1), run(0.8, task="rte", seed=2), run(0.9, task="sst2"))
    (ours,) = rows_of(form, OURS).values()
    assert (ours["RTE"], ours["SST-2"]) == ("75.0", "90.0")
    assert any("1 run of SST-2; 2 runs of RTE" in note for note in form.notes)


def test_files_name_the_group_in_each_row() -> None:
    form = form_of(run(0.9, task="sst2", model="a|b"))
    lines = [line for line in form.markdown("").splitlines() if line.startswith("| ours")]
    assert len(lines) == 1 and "a\\|b" in lines[0]


def test_a_table_without_columns_has_no_such_form() -> None:
    with pytest.raises(UserError, match="`form`"):
        paper_form(load_table("squad"), [])

"""Files from anywhere are read as a careful person reads them, or the tool asks; it never trains on something else."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from support.paths import ROOT

from oracle.every import markdown, of_real_files
from oracle.files import put_table
from oracle.folders import layouts
from oracle.layout import CLASSES, Layout, Marked, Outcome, Text, Written, outcome, same
from oracle.outcomes import named, outcomes_in

WRITTEN, REAL = list(layouts()), of_real_files()
PAGES = [ROOT / folder / "explanation" / "results.md" for folder in ("docs", "docs/ko")]


@pytest.fixture(scope="module")
def outcomes(shared: Path) -> dict[str, Outcome]:
    """Of every layout, which is read once for all tests."""
    return outcomes_in(shared)


def test_a_layout_is_read_rightly_or_asked_about(outcomes: dict[str, Outcome]) -> None:
    assert {name: found.seen for name, found in outcomes.items() if found.verdict == "wrong"} == {}


@pytest.mark.parametrize("layout", REAL, ids=named)
def test_a_real_file_is_read_rightly_or_asked_about(layout: Layout, tmp_path: Path) -> None:
    result = outcome(layout, tmp_path)
    assert result.verdict != "wrong", result.seen


def test_a_layout_has_a_file_and_rows_enough(tmp_path: Path) -> None:
    for number, layout in enumerate(WRITTEN):
        (folder := tmp_path / str(number)).mkdir()
        written = layout.write(folder)
        assert written.path.exists(), named(layout)
        assert len(written.rows) >= layout.least, named(layout)


def table(names: tuple[str, str], *, label: list[str], answers: dict[str, str] | None = None) -> Layout:
    """A table of texts and labels, whose columns have these names."""
    texts = [f"the bus was late on day {n}" for n in range(len(label))]

    def write(folder: Path) -> Written:
        path = put_table(folder / "data.csv", dict(zip(names, (texts, label), strict=True)))
        return Written(path=path, rows=[Text(t, None, y) for t, y in zip(texts, label, strict=True)])

    return Layout(name="", kind="plain-tables", language="en", write=write, answers=answers or {})


@pytest.fixture
def clear() -> Layout:
    return table(("text", "label"), label=["yes", "no"] * 25)


def test_other_rows_than_the_expected_ones_are_wrong(clear: Layout, tmp_path: Path) -> None:
    def changed(folder: Path) -> Written:
        written = clear.write(folder)
        first = written.rows[0]
        assert isinstance(first, Text)
        return replace(written, rows=[replace(first, label="maybe"), *written.rows[1:]])

    assert outcome(clear, tmp_path).verdict == "right"
    assert outcome(replace(clear, write=changed), tmp_path).verdict == "wrong"


def test_a_guess_is_wrong_where_nobody_could_tell(clear: Layout, tmp_path: Path) -> None:
    assert outcome(replace(clear, must_ask=True), tmp_path).verdict == "wrong"
    assert outcome(replace(clear, refused="label="), tmp_path).verdict == "wrong"


def test_a_message_must_name_a_setting_that_works(tmp_path: Path) -> None:
    unlabelled = table(("text", "id"), label=[str(n) for n in range(50)], answers={"text": "text"})
    assert outcome(unlabelled, tmp_path).verdict == "wrong"


def test_marks_of_entities_are_compared_by_their_places() -> None:
    expected = [Marked("Anna in New York", ((0, 4, "PER"), (8, 16, "LOC")), open=((8, 16),))]
    assert same([Marked("Anna in New York", ((0, 4, "PER"), (8, 11, "LOC")))], expected)
    assert not same([Marked("Anna in New York", ((8, 11, "LOC"),))], expected)


def test_the_layouts_are_many_and_of_every_class() -> None:
    assert len({named(layout) for layout in WRITTEN}) == len(WRITTEN) >= 80
    assert len({layout.language for layout in WRITTEN}) >= 6
    assert min(Counter(layout.kind for layout in WRITTEN)[kind] for kind in CLASSES) >= 4


def test_two_thirds_of_the_layouts_are_read_without_a_question(outcomes: dict[str, Outcome]) -> None:
    right = sum(result.verdict == "right" for result in outcomes.values())
    assert right >= 2 / 3 * len(outcomes)


def test_settings_in_messages_can_be_copied_into_a_shell(outcomes: dict[str, Outcome]) -> None:
    for name, result in outcomes.items():
        for setting in re.findall(r"\S+=\S*column \d+", result.seen) if result.verdict == "asks" else []:
            assert setting[0] in "'\"" or "='" in setting or '="' in setting, f"{name}: {result.seen}"


def test_the_documents_show_the_outcomes(outcomes: dict[str, Outcome]) -> None:
    shown = markdown([(layout, outcomes[named(layout)]) for layout in WRITTEN])
    for page in PAGES:
        assert f"<!-- oracle -->\n{shown}\n<!-- /oracle -->" in page.read_text(encoding="utf-8")

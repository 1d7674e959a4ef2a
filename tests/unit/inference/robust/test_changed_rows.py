"""Rows of each type are changed so that labels stay, and predictions before and after are compared."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.cli import InProcess, assert_error
from support.runs import FinishedRun
from support.toys import cat_task, choice_task, span_task, tag_task

from finetune.commands.report.run.robust import blocks
from finetune.inference.predictor import Predictor
from finetune.inference.robust.changed_rows import changed_row, robustness
from finetune.inference.robust.flips import Flip, KindFlips, Robustness
from finetune.inference.robust.kinds import KINDS
from finetune.runs.folder import RunFolder
from finetune.runs.record_files import load_record
from finetune.task_types.choice.task import ChoiceRow
from finetune.task_types.parts import Answer
from finetune.task_types.sentence.task import SentenceRow
from finetune.task_types.span.row import SpanRow
from finetune.task_types.tagging.row import TaggingRow

NAME, TYPO, SPACE = (next(kind for kind in KINDS if kind.name == name) for name in ("name", "typo", "space"))


def change(task: Any, row: Any, kind: Any) -> Any:
    return changed_row(task.codec, row, kind, 0)


def test_a_name_is_changed_in_both_texts_of_a_pair() -> None:
    found = change(cat_task(), SentenceRow(id="1", text="Mary sat", pair="it was Mary, not Maryann", gold="yes"), NAME)
    new = found.changed.text.split()[0]
    assert new != "Mary"
    assert found.changed.pair == f"it was {new}, not Maryann"
    assert found.changed.gold == "yes"


def test_a_word_keeps_its_tag() -> None:
    row = TaggingRow(id="1", words=("the", "yesterday", "cat"), gold=("O", "B-TIME", "O"))
    found = change(tag_task(), row, TYPO)
    assert len(found.changed.words) == 3
    assert found.changed.words[1] != "yesterday"
    assert found.changed.gold == row.gold
    assert change(tag_task(), row, SPACE) is None


def test_a_sentence_is_read_without_its_neighbours() -> None:
    task = tag_task(context="document")
    rows = [TaggingRow(id=str(n), words=("yesterday",), gold=("O",), document="d") for n in range(2)]
    assert task.codec.encode_together(*rows)
    assert not task.codec.encode_together(*(change(task, row, TYPO).changed for row in rows))


def test_words_of_a_text_move_with_it() -> None:
    row = TaggingRow(id="1", words=("yesterday", "."), gold=("B-TIME", "O"), text="yesterday.", starts=(0, 9))
    found = change(tag_task(), row, TYPO).changed
    assert "".join(found.words) == found.text


def test_a_question_is_changed_and_not_its_context() -> None:
    row = SpanRow(id="1", question="where yesterday?", context="yesterday it sat", answers=("sat",), start=13)
    found = change(span_task(), row, TYPO).changed
    assert found.context == row.context
    assert found.question != row.question


def test_a_context_is_changed_and_not_its_choices() -> None:
    row = ChoiceRow(id="1", context="yesterday", choices=("morning", "evening"), gold=0)
    found = change(choice_task(), row, TYPO).changed
    assert found.choices == row.choices
    assert found.context != row.context


@dataclass(frozen=True)
class Stub:
    """A predictor that calls a function on each row."""

    task: Any
    value: Callable[[Any], Any]

    def answers(self, rows: Any) -> list[Answer]:
        return [Answer(value=self.value(row)) for row in rows]


def flips(run: Path, predictor: Predictor, value: Callable[[Any], Any], **given: int) -> dict[str, tuple[int, int]]:
    found = robustness(Stub(predictor.task, value), RunFolder(run), **given)  # type: ignore[arg-type]
    return {one.kind.name: (one.rows, len(one.flips)) for one in found.kinds}


def test_only_predictions_that_change_are_flips(reviews: Path, reviewer: Predictor) -> None:
    assert {count for _, count in flips(reviews, reviewer, lambda _: "good").values()} == {0}
    found = flips(reviews, reviewer, lambda row: "good" if row.text.islower() else "bad")
    assert found["case"][1] == found["case"][0] > 0
    assert found["space"][1] == 0
    assert flips(reviews, reviewer, lambda _: "good", most=3)["case"][0] == 3


def test_numbers_flip_when_they_are_far_apart(reviews: Path, reviewer: Predictor) -> None:
    found = flips(reviews, reviewer, lambda row: float(row.id) + 0.01 * row.text.islower())
    assert {count for _, count in found.values()} == {0}


def test_the_report_lists_them(reviews: Path, in_process: InProcess, tmp_path: Path) -> None:
    code, _, err = in_process("report", str(reviews), "--robust", data="")
    assert code == 0, err
    page = (tmp_path / "report.html").read_text()
    assert "Changed rows" in page
    record = load_record(reviews / "record.json")
    assert f"Rows of {record.first_split} with one change" in page
    code, _, err = in_process("report", "no-run", "--robust", data="")
    assert code == 2
    assert_error(err, "no-run")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["regression", "multilabel", "tagging", "intent", "overlapping", "span", "choice"])
def test_each_type_has_changed_rows(kind: str, finished_run: FinishedRun) -> None:
    from finetune.inference.predictor import load_predictor

    run = finished_run(kind)
    found = robustness(load_predictor(run), RunFolder(run))
    assert found.kinds
    assert found.lines


def test_a_change_is_marked_as_no_prediction() -> None:
    found = change(cat_task(), SentenceRow(id="1", text="yesterday", pair=None, gold="yes"), TYPO)
    flips = [KindFlips(kind=TYPO, rows=1, flips=[Flip(where=found, before="yes", after="no")])]
    run: Any = SimpleNamespace(robust=Robustness(split="dev", kinds=flips))
    *_, listed = blocks(run)
    marks = [segment.mark for part in listed.shown[0].parts for segment in part.segments]
    assert marks == ["", "changed", ""]

"""The page of a search: its trials as parallel coordinates."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.cli import InProcess
from support.records import run

from finetune.commands.search.execute import HONEST
from finetune.commands.search.result import Search
from finetune.commands.search.space import Choices, Range
from finetune.commands.search.trial import SeedRun, Trial
from finetune.errors import UserError
from finetune.metrics.scores import accuracy
from finetune.runs.recipe import Recipe

SPACE = {
    "train.learning_rate": Range(low=1e-5, high=1e-3, whole=False, log=True),
    "train.epochs": Range(low=1, high=4, whole=True),
    "layers": Choices(values=("last", "<b>")),
    "frozen": Choices(values=(True, False)),
}


def trial(number: int, score: float | None, rate: float, epochs: int, layers: str) -> Trial:
    """A finished trial, or one without a score, which failed."""
    settings = {"train.learning_rate": rate, "train.epochs": epochs, "layers": layers, "frozen": number % 2 == 0}
    made = Trial(settings=settings, number=number)
    if score is None:
        made.failure = "the loss is not a number"
    else:
        made.finish([run(score, seed=1), run(score + 0.01, seed=2)])
    return made


def found(*trials: Trial) -> Search:
    """A search with these trials, the first of which is the best."""
    return Search(
        found=trials, best=Recipe(task="mrpc"), winner=trials[0], space=SPACE, seeds=2, metric=accuracy, split="dev",
        optimism=0.004, held_out=None, notes=["a note"], out=Path("results"),
    )  # fmt: skip


def test_a_line_for_each_trial_from_axis_to_axis(tmp_path: Path) -> None:
    pruned = trial(3, 0.6, 1e-5, 4, "last")
    pruned.pruned_at, pruned.by_epoch, pruned.runs = 1, {1: 0.55}, [SeedRun(planned=None, id="0")]  # type: ignore[arg-type]
    trials = [trial(0, 0.9, 1e-4, 2, "last"), trial(1, 0.8, 1e-3, 4, "<b>"), trial(2, None, 1e-3, 1, "<b>"), pruned]
    file = found(*trials).page(tmp_path / "search.html")
    page = file.read_text(encoding="utf-8")
    lines = re.findall(r'<path d="(M[^"]*)" class="line (\w+)"[^>]*stroke-dasharray="([^"]*)"><title>([^<]*)', page)
    assert [colour for _, colour, _, _ in lines] == ["quiet", "quiet", "s2"]  # the best is drawn last
    assert [dash for *_, dash, _ in lines] == ["4 3", "none", "none"]
    assert lines[-1][3] == "train.learning_rate=0.0001, train.epochs=2, layers=last, frozen=true: 90.5"
    assert all(path.count("L") == len(SPACE) for path, *_ in lines)  # five axes
    heights = [[float(point.split()[1]) for point in path[1:].split("L")] for path, *_ in lines]
    assert heights[2][-1] < heights[1][-1] < heights[0][-1]  # the better the score, the higher
    assert heights[2][0] == pytest.approx((heights[0][0] + heights[1][0]) / 2, abs=0.2)  # by the logarithm
    assert "1 trial failed and is not drawn" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "1.5" not in re.findall(r'class="over">([^<]*)', page)  # epochs are whole numbers


def test_one_trial_and_a_file_of_the_user(tmp_path: Path) -> None:
    page = found(trial(0, 0.9, 1e-4, 2, "last")).page(tmp_path / "one.html")
    assert "<svg" in page.read_text(encoding="utf-8")
    (tmp_path / "mine.html").write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match="already exists"):
        found(trial(0, 0.9, 1e-4, 2, "last")).page(tmp_path / "mine.html")
    with pytest.raises(UserError, match="is written as"):
        found(trial(0, 0.9, 1e-4, 2, "last")).page(tmp_path / "a.txt")


def test_the_page_of_the_command_line_names_its_options(
    in_process: InProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = replace(found(trial(0, 0.9, 1e-4, 2, "last")), notes=[HONEST])
    monkeypatch.setattr("finetune.commands.search.command.execute_search", lambda *_, **__: made)
    (tmp_path / "reviews.csv").write_text("text,label\n" + "good one,a\nbad one,b\n" * 20)
    assert in_process("search", "reviews.csv", "--page", "s.html", data="")[0] == 0
    page = (tmp_path / "s.html").read_text(encoding="utf-8")
    assert "--test-share" in page and "test_share" not in page

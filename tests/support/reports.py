"""Folders of runs to report on, and reading a page."""

import base64
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from finetune.commands.report import report as written_report
from finetune.data.source import Source
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.choice.task import ChoiceRow
from finetune.task_types.classification.task import SentenceRow
from finetune.task_types.parts import Answer
from finetune.task_types.span.questions import SpanAnswer
from finetune.task_types.span.task import SpanRow
from finetune.task_types.tagging.task import TaggingRow
from finetune.task_types.task import Task
from finetune.training.evaluation import DevEvaluation, predicted_by_baselines
from support.records import save_run
from support.toys import cat_task, choice_task, labelled_shapes, span_task, tag_task
from support.training import fit

NASTY = "<script>alert(1)</script></style><img src=x onerror=alert(2)>\u202e\x07&amp; $x$ 한국어"


def saved_run(
    out: Path,
    task: Task,
    rows: Sequence[Any],
    answers: Sequence[Answer],
    *,
    seed: int = 42,
    baselines: dict[str, list[Answer]] | None = None,
    losses: Sequence[float] = (0.7, 0.6, 0.5),
) -> Path:
    """The folder of a run without its model, as `finetune run` leaves it."""
    facts = facts_of(task, task.score(answers, rows), seed)
    path = save_run(out, task, rows, answers, baselines=baselines or {}, **facts)
    events = (
        {"time": 1, "event": "training", "done": 0, "updates": len(losses)},
        {"time": 2, "event": "updates", "update": len(losses), "losses": list(losses)},
    )
    (path / "events.jsonl").write_text("\n".join(map(json.dumps, events)))
    return path


def facts_of(task: Task, scores: dict[str, float], seed: int) -> dict[str, Any]:
    """What a report shows of a record."""
    headline = scores[task.metric_names[0]]
    epochs = [{"epoch": i, "loss": 1 / i, "headline": headline * i / 2, "scores": {"dev": scores}} for i in (1, 2)]
    return {
        "recipe": Recipe(task=task.name, model="tiny", seed=seed).model_dump(exclude={"grid"}),
        "data_origin": {"dev": "made up"}, "notes": ["a note"], "versions": {"python": "3"},
        "seconds": {"total": 1.0, "training": 1.0}, "epochs": epochs, "selected_epoch": 2,
    }  # fmt: skip


@pytest.fixture(scope="session")
def shapes(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> dict[str, Path]:
    """A run of each shape, with the answers of a tiny encoder after one epoch, by the task's name."""
    out = tmp_path_factory.mktemp("shapes")
    found = {}
    for task in labelled_shapes():
        _, fitted, _ = fit(task, tiny_bert, Train(epochs=1, batch_size=16, learning_rate=1e-3))
        rows = task.load(Source(), "dev").rows
        evaluation = DevEvaluation(task=task, rows={"dev": rows}, features={"dev": []})
        baselines = evaluation.decided(predicted_by_baselines(task, rows, {"dev": rows}), fitted)["dev"]
        found[task.name] = saved_run(out, task, rows, fitted.answers["dev"], baselines=baselines)
    return found


def nasty_tasks() -> Iterator[tuple[Task, list[Any], list[Answer]]]:
    """Rows of each shape with markup in every text, label and id."""
    text = [SentenceRow(id=NASTY + str(i), text=NASTY, pair=NASTY, gold=("a", NASTY)[i % 2]) for i in range(4)]
    task = replace(cat_task(text), labels=("a", NASTY), name="nasty")
    yield task, text, [Answer(value=NASTY, probabilities=[0.01, 0.99])] * 4
    words = [TaggingRow(id=NASTY, words=(NASTY, "b"), gold=("B-<b>", "O"))] * 4
    tags = replace(tag_task(), read=lambda *_: None, types=("<b>", "<i>"))
    yield tags, words, [Answer(value=["O", "B-<i>"], probabilities=[0.99, 0.99])] * 4
    questions = [SpanRow(id=NASTY, question=NASTY, context=f"x {NASTY} y", answers=(NASTY,), start=2)] * 4
    yield span_task(), questions, [SpanAnswer(value=NASTY, start=2, end=2 + len(NASTY), score=0.99)] * 4
    choices = [ChoiceRow(id=NASTY, context=NASTY, choices=(NASTY, "b"), gold=0)] * 4
    yield choice_task(), choices, [Answer(value=1, probabilities=[0.01, 0.99])] * 4


VOID = {"meta", "br", "img", "input"}


class Reader(HTMLParser):
    """Checks that elements nest, and gathers the text and the tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.data: list[Any] = []  # JSON for the page's script
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "action")]
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.data += [json.loads(data)] if data.startswith("{") else []
        else:
            self.text += data


def read(page: str) -> Reader:
    """A page that is whole, refers to nothing but itself, and whose one script is the one that it allows."""
    found = Reader(page)
    assert found.open == []
    assert all(link.startswith("#") for link in found.links)
    assert not re.search(r"url\((?!#)|@import", page)
    assert not {"img", "iframe", "link", "object"} & set(found.tags)
    policy = re.search(r"script-src 'sha256-([^']+)'", page)
    running = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert policy is not None
    assert [base64.b64encode(sha256(script.encode()).digest()).decode() for script in running] == [policy[1]]
    assert found.tags.count("script") == 1 + len(found.data)
    return found


def report(tmp_path: Path, *runs: str | Path, out: Path | None = None) -> str:
    """The page about some runs."""
    written = written_report(
        *(str(run) for run in runs), path=tmp_path / "report.html", force=True, out=out or tmp_path
    )
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert written.stat().st_size == len(page.encode()) < 5_000_000
    return page

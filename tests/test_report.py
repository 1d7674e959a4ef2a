"""Reports: their figures against known values, a page of every shape, and what a real browser makes of it."""

import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from toys import (
    cat_rows,
    cat_task,
    choice_task,
    every_shape,
    fit,
    labels_task,
    length_task,
    save_predictions,
    span_task,
    tag_task,
)

from finetune.analysis.report.run_files import read_losses
from finetune.analysis.report.split.confident_errors import confident_errors
from finetune.analysis.report.split.label_errors import label_errors
from finetune.analysis.report.split.length_and_score import length_bins
from finetune.analysis.report.write import write_report
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.predictor import Predictor
from finetune.inference.temperature import with_dev_temperature
from finetune.metrics.calibration import expected_error, reliability
from finetune.metrics.scores import Scores
from finetune.metrics.temperature import fit_temperature, highest_with_temperature, with_temperature
from finetune.runs.folder import RunFolder
from finetune.runs.recipe import Recipe, Train
from finetune.runs.recipe_diff import settings_of
from finetune.runs.record import RunRecord
from finetune.task_types.choice.task import ChoiceRow
from finetune.task_types.choice.view import ChoiceView
from finetune.task_types.marked_text import Segment, cut, entities, spans
from finetune.task_types.multilabel.view import LabelsView
from finetune.task_types.sentence.task import SentenceRow
from finetune.task_types.sentence.view import LabelView, NumberView
from finetune.task_types.span.answers import SpanAnswer
from finetune.task_types.span.row import SpanRow
from finetune.task_types.span.view import SpanView
from finetune.task_types.tagging.row import TaggingRow
from finetune.task_types.tagging.view import TagsView
from finetune.task_types.task import Answer, Task
from finetune.task_types.types import view_of
from finetune.training.evaluation import Evaluation

ROOT = Path(__file__).resolve().parents[1]
RANDOM = np.random.default_rng(3)
NASTY = "<script>alert(1)</script></style><img src=x onerror=alert(2)>\u202e\x07&amp; $x$ 한국어"
VOID = {"meta", "br", "img"}


class Reader(HTMLParser):
    """Checks that elements nest, and gathers the text and the tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
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
        self.text += data


def read(page: str) -> Reader:
    """A page that is whole and refers to nothing but itself."""
    found = Reader(page)
    assert found.open == []
    assert all(link.startswith("#") for link in found.links)
    assert not re.search(r"url\((?!#)|@import", page)
    assert not {"script", "img", "iframe", "link", "object"} & set(found.tags)
    return found


def saved_run(
    out: Path,
    task: Task,
    rows: Sequence[Any],
    answers: Sequence[Answer],
    *,
    seed: int = 42,
    baselines: dict[str, list[Answer]] | None = None,
    losses: Sequence[float] = (0.7, 0.6, 0.5),
    name: str | None = None,
) -> Path:
    """The folder of a run without its model, as `finetune run` leaves it."""
    path = out / task.name / (name or f"{len(list(out.glob('*/*'))):010x}")
    path.mkdir(parents=True)
    given = baselines or {}
    save_predictions(path / "predictions-dev.parquet", task, rows, answers, given)
    (path / "events.jsonl").write_text(
        "\n".join(
            json.dumps(event)
            for event in (
                {"time": 1, "event": "training", "done": 0, "updates": len(losses)},
                {"time": 2, "event": "updates", "update": len(losses), "losses": list(losses)},
            )
        )
    )
    (path / "record.json").write_text(record_of(task, path.name, task.score(answers, rows), seed, rows, given))
    return path


def record_of(
    task: Task, name: str, scores: dict[str, float], seed: int, rows: Sequence[Any], given: dict[str, list[Answer]]
) -> str:
    """The record's JSON."""
    first = task.metric_names[0]
    methods: Scores = {method: task.score(answers, rows) for method, answers in given.items()}
    epochs = [{"epoch": i, "loss": 1 / i, "headline": scores[first] * i / 2, "scores": {"dev": scores}} for i in (1, 2)]
    return RunRecord(
        id=name, task=task.name, task_version=1, finished="2026-01-01T00:00:00+00:00",
        recipe=Recipe(task=task.name, model="tiny", seed=seed).model_dump(exclude={"grid"}),
        model="tiny", weights="w", data="d", data_origin={"dev": "made up"}, rows={"dev": len(rows)}, features={},
        truncated={}, notes=["a note"], versions={"python": "3"}, git_commit=None, device="cpu", precision="fp32",
        processes=1, seconds={"total": 1.0, "training": 1.0}, examples_per_second=1.0, peak_memory_bytes=1,
        epochs=epochs, selected_epoch=2, headline=first, scores={"dev": scores}, baselines={"dev": methods},
        new_weights=[],
    ).model_dump_json()  # fmt: skip


def report(tmp_path: Path, *runs: str | Path, out: Path | None = None) -> str:
    """The page about some runs."""
    size = write_report([str(run) for run in runs], tmp_path / "report.html", out=out or tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert size == len(page.encode()) < 5_000_000
    return page


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> dict[str, Path]:
    """A run of each shape, with the answers of a tiny encoder after one epoch, by the task's name."""
    out = tmp_path_factory.mktemp("shapes")
    found = {}
    for task in every_shape():
        _, fitted, _ = fit(task, tiny_bert, Train(epochs=1, batch_size=16, learning_rate=1e-3))
        rows = task.load(Source(), "dev").rows
        evaluation = Evaluation(task=task, rows={"dev": rows}, features={"dev": []})
        baselines = evaluation.baselines(rows, fitted)["dev"]
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


@pytest.fixture(scope="module")
def page(shapes: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of all shapes, of seeds, and of markup and long words in the data."""
    folder = tmp_path_factory.mktemp("page")
    runs = [saved_run(folder, task, rows, answers) for task, rows, answers in nasty_tasks()]
    task, rows = cat_task(), [replace(row, text="x" * 900) for row in cat_rows(64)]
    gold = [Answer(value=answer.value, probabilities=[0.1, 0.9]) for answer in task.gold(rows)]
    runs += [saved_run(folder, task, rows, gold, seed=seed) for seed in (1, 2)]
    write_report([str(run) for run in (*shapes.values(), *runs)], folder / "report.html", out=folder)
    return folder / "report.html"


def test_ece_is_that_of_a_hand() -> None:
    confidence = np.array([0.95, 0.92, 0.65, 0.7, 0.25, 1.0])
    right = np.array([1, 0, 1, 1, 0, 1])
    bins = reliability(confidence, right)
    assert [(round(b.low, 1), b.count) for b in bins] == [(0.2, 1), (0.6, 2), (0.9, 3)]  # 0.7 ends the bin before it
    by_hand = (1 * abs(0 - 0.25) + 2 * abs(1 - 0.675) + 3 * abs(2 / 3 - 2.87 / 3)) / 6
    assert expected_error(bins) == pytest.approx(by_hand)
    assert expected_error(reliability(np.array([0.0, 1.0]), np.array([0, 1]))) == 0
    assert expected_error([]) == 0


def test_the_temperature_of_a_softmax_is_found() -> None:
    logits = RANDOM.normal(0, 2, (20_000, 4))
    gold = [int(RANDOM.choice(4, p=row)) for row in softmax(logits, axis=1)]
    for temperature in (0.5, 1.0, 3.0):
        too_sure = softmax(logits * temperature, axis=1)
        assert fit_temperature(too_sure.tolist(), gold) == pytest.approx(temperature, rel=0.05)
        assert with_temperature(too_sure[0], temperature) == pytest.approx(softmax(logits[0]).tolist(), abs=1e-6)


def test_a_temperature_stands_rows_of_different_lengths_and_zeros() -> None:
    given = [[0.5, 0.5], [0.2, 0.3, 0.5], [1.0, 0.0, 0.0, 0.0]]
    assert 0.05 <= fit_temperature(given, [0, 2, 0]) <= 20
    assert fit_temperature([[0.6, 0.4]] * 3, [0, 0, 0]) == pytest.approx(0.05, rel=0.01)  # all right: as sure as can be
    assert with_temperature([1.0, 0.0], 2.0) == pytest.approx([1.0, 0.0])
    highest = [max(with_temperature(row, 1.7)) for row in given]
    assert highest_with_temperature(given, 1.7) == pytest.approx(highest)


def test_lengths_are_cut_into_bins_of_about_as_many_rows() -> None:
    lengths = np.arange(60)
    bins = length_bins(lengths, (lengths < 30).astype(float))
    assert [b.count for b in bins] == [10] * 6 or sum(b.count for b in bins) == 60
    assert (bins[0].shortest, bins[-1].longest) == (0, 59)
    assert (bins[0].score, bins[-1].score) == (1, 0)
    (only,) = length_bins(np.full(40, 7), np.array([0.0, 1.0] * 20))
    assert only.margin == pytest.approx(1.96 * np.std([0, 1] * 20, ddof=1) / 40**0.5)
    assert length_bins(np.array([]), np.array([])) == []


def test_losses_are_those_of_the_last_training() -> None:
    def updates(update: int, *losses: float) -> str:
        return json.dumps({"event": "updates", "update": update, "losses": losses})

    def training(done: int) -> str:
        return json.dumps({"event": "training", "done": done})

    interrupted = [training(0), updates(2, 9, 9), updates(4, 8, 8), training(2), updates(4, 1, 2)]
    assert read_losses(interrupted) == ([(1, 9), (2, 9), (3, 1), (4, 2)], 0)
    anew = [training(0), updates(3, 9, 9, 9), training(0), updates(1, 5), '{"event": "upda']
    assert read_losses(anew) == ([(1, 5)], 1)


def test_settings_stand_beside_their_defaults() -> None:
    task = cat_task()
    rows = task.load(Source(), "dev").rows
    record = RunRecord.model_validate_json(record_of(task, "a", task.score(task.gold(rows), rows), 7, rows, {}))
    record = record.model_copy(update={"recipe": record.recipe | {"options": {"fold": 2}, "train": {"epochs": 9}}})
    changed = {one.key: (*one.values, one.default) for one in settings_of([record]) if one.changed}
    assert changed == {
        "model": ("tiny", "google-bert/bert-base-uncased"), "seed": (7, 42), "options.fold": (2, None),
        "train.epochs": (9, 3),
    }  # fmt: skip


def test_texts_are_cut_and_freed_of_what_steers_a_browser() -> None:
    assert cut("a" * 500) == "a" * 400 + " … (100 characters more)"
    assert cut("a\x00b\u202ec") == "a\ufffdb\ufffdc"


def test_entities_are_marked_by_whether_both_sides_have_them() -> None:
    words = ["the", "big", "house", "saw", "a", "cat"]
    part = entities(
        "gold", words, [("PLACE", 1, 3), ("ANIMAL", 5, 6)], [("ANIMAL", 5, 6)], otherwise="missed", around=0
    )
    assert [(s.text, s.mark, s.label) for s in part.segments if s.mark] == [
        ("big house", "missed", "PLACE"),
        ("cat", "right", "ANIMAL"),
    ]
    assert "".join(s.text for s in part.segments).split() == words
    long = entities("gold", ["w"] * 500, [("X", 450, 451)], [], otherwise="wrong", around=450)
    assert sum(s.text.count("w") for s in long.segments) == 60
    assert [s.mark for s in long.segments if s.mark] == ["wrong"]


def test_spans_are_marked_and_what_both_have_is_right() -> None:
    part = spans("context", "abcdefghij", [(2, 5, "gold"), (4, 7, "answer")])
    assert part.segments == [
        Segment(text="ab"), Segment(text="cd", mark="gold"), Segment(text="e", mark="right"),
        Segment(text="fg", mark="answer"), Segment(text="hij"),
    ]  # fmt: skip
    far = spans("context", "x" * 1_000 + "gold" + "x" * 1_000, [(1_000, 1_004, "gold")])
    assert len("".join(s.text for s in far.segments)) < 400


def lines_of(task: Task, answers: Sequence[Answer], tmp_path: Path) -> Any:
    """The view of answers to a toy's rows."""
    from finetune.runs.predictions import read_predictions

    save_predictions(tmp_path / "p.parquet", task, task.load(Source(), "dev").rows, answers)
    return view_of(read_predictions(tmp_path / "p.parquet"), getattr(task, "labels", ()))


def test_golds_that_were_turned_are_suggested_and_no_others(tmp_path: Path) -> None:
    rows = cat_rows(64)
    turned = {5, 40}
    answers = [
        Answer(value=row.gold, probabilities=[0.02, 0.98] if row.gold == "yes" else [0.98, 0.02]) for row in rows
    ]
    answers[7] = Answer(value="no" if rows[7].gold == "yes" else "yes", probabilities=[0.55, 0.45])  # unsure and wrong
    other = {"yes": "no", "no": "yes"}
    task = cat_task([replace(row, gold=other[row.gold]) if i in turned else row for i, row in enumerate(rows)])
    view = lines_of(task, answers, tmp_path)
    found, count = label_errors(view, 20)
    assert ({line["id"] for line, _ in found}, count) == ({"5", "40"}, 2)
    wrong, count = confident_errors(view, 1)
    assert (len(wrong), count) == (1, 3)


def test_every_shape_knows_its_view(tmp_path: Path) -> None:
    kinds = [LabelView, NumberView, LabelsView, TagsView, SpanView, SpanView, ChoiceView]
    for task, kind in zip(every_shape(), kinds, strict=True):
        gold = task.gold(task.load(Source(), "dev").rows)
        perfect = [SpanAnswer(value=a.value, start=0, end=0) for a in gold] if "spans" in task.name else gold
        view = lines_of(task, perfect, tmp_path)
        assert type(view) is kind
        assert view.scores().mean() == (0 if kind is NumberView else 1)
        assert all(one.f1 == 1 for one in view.classes() if one.gold)
        assert len(view.lengths()) == 64
    assert view_of([]) is None
    assert view_of([{"id": "1", "gold": None, "answer": None}]) is None
    assert view_of([{"id": "1", "gold": 1, "answer": 1, "shape": "of its own"}]) is None


def test_classes_have_the_scores_of_the_record(shapes: dict[str, Path]) -> None:
    for name, task in (("toy-tags-sentence", tag_task()), ("toy-labels", labels_task())):
        record = RunRecord.model_validate_json((shapes[name] / "record.json").read_text())
        view = view_of(_read(shapes[name]), getattr(task, "labels", ()))
        assert view is not None
        for one in view.classes():
            assert record.scores["dev"][f"{one.name}/f1"] == pytest.approx(one.f1)


def _read(folder: Path) -> list[dict[str, Any]]:
    from finetune.runs.predictions import read_lines

    return read_lines(RunFolder(folder), "dev")


def test_every_shape_has_a_page(shapes: dict[str, Path], tmp_path: Path) -> None:
    cards = {"Scores on dev", "Training loss", "Settings", "Facts", "Length and score", "Possible label errors"}
    own = {
        "toy-cats": {"By class", "Confusion", "Calibration", "Most confident errors"},
        "toy-reds": {"Predicted vs. true", "Largest errors"},
        "toy-labels": {"By class", "Calibration", "Most confident errors"},
        "toy-tags-sentence": {"By class", "Confusion", "Calibration"},
        "toy-spans-1": {"Confusion", "Calibration"},
        "toy-spans-2": {"Confusion", "Calibration"},
        "toy-choices": {"Confusion", "Calibration"},
    }
    for name, folder in shapes.items():
        found = read(report(tmp_path, folder))
        for title in cards | own[name]:
            assert title in found.text, (name, title)
        assert "Only a suggestion" in found.text
        assert ("With the temperature" in found.text) == (name in ("toy-cats", "toy-choices"))
        assert found.tags.count("svg") >= 4
    assert set(own) == set(shapes)


def test_every_chart_says_in_words_what_it_shows(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    read(text)
    charts = re.findall(r"<svg [^>]*>(?:<title>.*?</title>)?", text)
    assert all('role="img" aria-label="' in chart and "<title>" in chart for chart in charts)
    assert len(charts) > 30
    assert "#0" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)  # every colour is one of the page's


def test_several_seeds_are_one_group(tmp_path: Path) -> None:
    task, rows = cat_task(), cat_rows(64)
    gold = task.gold(rows)
    for seed, wrong in ((1, 4), (2, 8), (3, 12)):
        answers = [Answer(value="no" if i < wrong else a.value, probabilities=[0.5, 0.5]) for i, a in enumerate(gold)]
        saved_run(tmp_path, task, rows, answers, seed=seed)
    text = read(report(tmp_path, *tmp_path.glob("toy-cats/*"))).text
    assert "3 runs that differ in their seeds alone" in text
    scores = [task.score([Answer(value="no")] * n + gold[n:], rows)["accuracy"] for n in (4, 8, 12)]
    assert f"{100 * np.mean(scores):.1f}" in text
    assert f"{100 * np.std(scores, ddof=1):.1f}" in text


def test_the_same_run_is_shown_once(shapes: dict[str, Path], tmp_path: Path) -> None:
    folder = shapes["toy-cats"]
    page = report(tmp_path, folder, folder.name, "toy-cats", out=folder.parents[1])
    assert page.count(">Facts<") == 1


def test_markup_in_data_stays_text(tmp_path: Path) -> None:
    runs = []
    for task, rows, answers in nasty_tasks():
        methods = {NASTY: [Answer(value=answer.value) for answer in answers]}
        runs.append(saved_run(tmp_path, task, rows, answers, baselines=methods))
    page = report(tmp_path, *runs)
    found = read(page)
    assert "<script" not in page
    assert "onerror" not in found.tags
    assert found.text.count("<script>alert(1)</script>") > 20
    assert "\u202e" not in page
    assert "\x07" not in page


def test_a_record_alone_gives_a_page_that_says_what_is_missing(tmp_path: Path) -> None:
    kept = sorted((ROOT / "results").glob("*/*/record.json"))
    assert len(kept) > 10
    found = read(report(tmp_path, *(file.parent for file in kept)))
    assert "events.jsonl, so no loss of single updates is shown" in found.text
    assert "predictions-dev.parquet, so nothing is shown of single rows of dev" in found.text
    assert "Spread over the seeds" in found.text


def test_what_cannot_be_reported_is_said_in_a_line(shapes: dict[str, Path], tmp_path: Path) -> None:
    def refused(*runs: str | Path, to: Path = tmp_path / "r.html") -> str:
        with pytest.raises(UserError) as raised:
            write_report([str(run) for run in runs], to, out=tmp_path)
        return str(raised.value)

    assert "names no finished run" in refused("nothing")
    assert "names no finished run" in refused(tmp_path)
    broken = Path(shutil.copytree(shapes["toy-cats"], tmp_path / "toy-cats" / "aaaa"))
    (broken / "predictions-dev.parquet").write_bytes(b"PAR1 no more")
    assert "cannot be read" in refused(broken)
    write_predictions_without_gold(broken / "predictions-dev.parquet")
    assert "has no column gold and answer" in refused(broken)
    (broken / "record.json").write_text("{")
    assert "is no readable record" in refused(broken)
    assert "is a folder" in refused(shapes["toy-cats"], to=tmp_path)
    assert "cannot be written" in refused(shapes["toy-cats"], to=tmp_path / "no" / "folder.html")
    assert not (tmp_path / "r.html").exists()


def write_predictions_without_gold(file: Path) -> None:
    """A Parquet file that no run wrote."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist([{"id": "1", "text": "a"}]), file)


def test_without_the_extra_it_is_named(
    shapes: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r"pip install 'bert-finetune\[report\]'"):
        report(tmp_path, shapes["toy-cats"])


def test_many_rows_take_seconds_and_little_room(tmp_path: Path) -> None:
    count, labels = 30_000, tuple(f"label {number}" for number in range(80))
    rows = [SentenceRow(id=str(i), text=f"the cat {i} " * (1 + i % 30), gold=labels[i % 80]) for i in range(count)]
    even = [1 / 80] * 80
    answers = [Answer(value=labels[(i * 7) % 80], probabilities=even) for i in range(count)]
    folder = saved_run(tmp_path, replace(cat_task(rows), labels=labels), rows, answers, losses=[0.5] * 50_000)
    started = time.process_time()
    page = report(tmp_path, folder)
    assert time.process_time() - started < 30  # about 3
    assert len(page.encode()) < 1_000_000
    text = read(page).text
    assert "Shown are 20 of" in text
    assert "60 of 80 classes" in text


def test_a_page_that_would_be_too_large_leaves_runs_out(
    shapes: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from finetune.analysis.report import page

    monkeypatch.setattr(page, "MOST_BYTES", 60_000)
    assert page.TOO_LONG in read(report(tmp_path, *shapes.values())).text


def test_the_command_and_temperature_of_predict(
    in_process: Callable[..., tuple[int, str, str]], rte: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    settings = [f"model={tiny_bert}", "train.epochs=1", "max_length=32"]
    assert in_process("run", "glue-rte", *settings, data=rte)[0] == 0
    code, out, _ = in_process("report", "rte", "-o", "page.html", data=rte)
    assert code == 0
    assert out.startswith("page.html: ")
    assert "With the temperature" in read((tmp_path / "page.html").read_text()).text
    (tmp_path / "new.csv").write_text("sentence1,sentence2\nthe cat sat,a bird flew\nthe dog ran,a bird sat\n")
    for name, more in (("plain", []), ("dev", ["temperature=dev"])):
        assert in_process("predict", "rte", "new.csv", *more, "-o", f"{name}.jsonl", data=rte)[0] == 0
    plain, dev = (
        [json.loads(line) for line in (tmp_path / f"{n}.jsonl").read_text().splitlines()] for n in ("plain", "dev")
    )
    (folder,) = tmp_path.glob("results/rte/*")
    view = view_of(_read(folder), ("not_entailment", "entailment"))
    assert view is not None
    names = [key for key in plain[0] if key.startswith("p(")]
    chances = view_of(_read(folder), [name[2:-1] for name in names]).chances()  # type: ignore[union-attr]
    assert chances is not None
    temperature = fit_temperature(*chances)
    for before, after in zip(plain, dev, strict=True):
        assert after["answer"] == before["answer"]
        wanted = with_temperature([before[name] for name in names], temperature)
        assert [after[name] for name in names] == pytest.approx(wanted, abs=1e-5)
    code, _, err = in_process("predict", "rte", "new.csv", "temperature=2", data=rte)
    assert (code, "It can be dev" in err) == (2, True)


def test_a_temperature_is_for_one_choice_out_of_several(tmp_path: Path) -> None:
    for task in (length_task(), labels_task(), tag_task(), span_task()):
        predictor = Predictor(task=task, engine=None, tokenizer=None, max_length=8, fingerprint="")  # type: ignore[arg-type]
        with pytest.raises(UserError, match="can have no temperature"):
            with_dev_temperature(predictor, "any", "dev", out=tmp_path)
    predictor = Predictor(task=cat_task(), engine=None, tokenizer=None, max_length=8, fingerprint="")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="is no run of finetune"):
        with_dev_temperature(predictor, "any", "dev", out=tmp_path)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real headless Chromium."""
    webdriver = pytest.importorskip("selenium.webdriver")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs Chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    flags = "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking"
    for flag in (*flags.split(), "disable-component-update", "disable-sync"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield opened
    opened.quit()


CONTRAST = """
const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const over = (colour, below) => {  // any CSS colour on top of another, as the browser mixes them
  canvas.fillStyle = `rgb(${below})`; canvas.fillRect(0, 0, 1, 1);
  canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const behind = element => {
  const chain = [];
  for (let e = element; e; e = e.parentElement) chain.push(getComputedStyle(e).backgroundColor);
  return chain.reverse().reduce((below, colour) => over(colour, below), [255, 255, 255]);
};
const worst = {ratio: 99, text: "", count: 0};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const text = walker.currentNode.data.trim(), element = walker.currentNode.parentElement;
  if (!text || element.closest("title") || !element.getClientRects().length) continue;
  const style = getComputedStyle(element);
  const below = behind(element);
  const [a, b] = [light(over(element instanceof SVGElement ? style.fill : style.color, below)), light(below)];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  worst.count += 1;
  if (ratio < worst.ratio) { worst.ratio = ratio; worst.text = text; }
}
return {...worst, page: behind(document.body)};
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_a_browser_shows_it_whole_and_readable(browser: Any, page: Path, width: int, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    browser.get(page.as_uri())
    assert browser.get_log("browser") == []
    asked = "return [innerWidth, document.documentElement.scrollWidth, document.querySelectorAll('svg').length]"
    inner, wide, charts = browser.execute_script(asked)
    assert inner == width
    assert wide <= width
    assert charts > 30
    overlong = "return [...document.querySelectorAll('svg, .card, mark')].filter(e => !e.closest('.scroll') && "
    overlong += "e.getBoundingClientRect().right > innerWidth).length"
    assert browser.execute_script(overlong) == 0
    found = browser.execute_script(CONTRAST)
    assert found["count"] > 1_000
    assert found["ratio"] >= 4.5, found
    assert (sum(found["page"]) < 3 * 60) == (scheme == "dark")


def test_a_browser_asks_for_nothing_else(browser: Any, page: Path) -> None:
    browser.get(page.as_uri())
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0

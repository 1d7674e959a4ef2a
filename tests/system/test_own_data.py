"""A user's own data from the file to answers: run, predict and evaluate through the command line."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import InProcess
from support.predicted_files import read, written
from support.runs import FAST, REVIEWS

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference import predictor as predictors
from finetune.runs.events import unwatched
from finetune.runs.folder import folder_name
from finetune.runs.lookup import latest_run
from finetune.task_types.columns import Layout
from finetune.task_types.resolved_run import resolved_run
from finetune.task_types.starting_recipe import starting_recipe
from finetune.training.run import run
from finetune.training.run_options import RunOptions


def test_the_split_of_a_run_is_kept_and_can_be_used_again(tmp_path: Path, tiny_bert: Path) -> None:
    data = written(tmp_path / "reviews.csv", [("review", "mark"), *REVIEWS])
    settings = {"model": str(tiny_bert), **FAST, "train.epochs": 1}
    out = tmp_path / "results"
    first = run(
        resolved_run(starting_recipe(str(data), settings)[0]), RunOptions(source=Source(), out=out), watch=unwatched
    )
    kept = out / "reviews.csv" / first.id / "split.json"
    split = json.loads(kept.read_text())
    assert len(split["dev"]) == 8
    assert sorted(map(int, split["train"] + split["dev"])) == list(range(1, 81))
    again = run(
        resolved_run(starting_recipe(str(data), {**settings, "split": str(kept)})[0]),
        RunOptions(source=Source(), out=out),
        watch=unwatched,
    )
    assert again.data == first.data
    kept.write_text(json.dumps({"dev": ["500"]}))
    with pytest.raises(UserError, match="1 of its dev rows"):
        run(
            resolved_run(starting_recipe(str(data), {**settings, "split": str(kept)})[0]),
            RunOptions(source=Source(), out=out),
            watch=unwatched,
        )


def test_what_the_model_keeps_of_the_columns_is_part_of_the_id(tmp_path: Path, tiny_bert: Path) -> None:
    """The rows are the same, but not what a model would read of a file, or answer."""
    settings = {"model": str(tiny_bert), **FAST, "train.epochs": 1}

    def trained_on(name: str, header: tuple[str, ...], rows: list[tuple[str, ...]], **options: str) -> Layout:
        (tmp_path / name).mkdir()
        data = written(tmp_path / name / "reviews.csv", [header, *rows])
        recipe, _ = starting_recipe(str(data), settings | options)
        record = run(
            resolved_run(recipe), RunOptions(source=Source(), out=tmp_path / "results", device="cpu"), watch=unwatched
        )
        layout = predictors.load_predictor(tmp_path / "results" / "reviews.csv" / record.id).layout
        assert layout is not None
        return layout

    assert trained_on("first", ("review", "mark"), REVIEWS).text == ("review",)
    assert trained_on("text", ("comment", "mark"), REVIEWS).text == ("comment",)
    assert trained_on("label", ("review", "label"), REVIEWS).label == ("label",)
    assert len(list((tmp_path / "results" / "reviews.csv").iterdir())) == 3
    assert trained_on("again", ("review", "mark"), REVIEWS).text == ("review",)
    assert len(list((tmp_path / "results" / "reviews.csv").iterdir())) == 3


def test_a_row_that_cannot_be_used_makes_no_class(tmp_path: Path, tiny_bert: Path) -> None:
    data = written(tmp_path / "reviews.csv", [("review", "mark"), *REVIEWS, ("", "awful"), (" ", "fine")])
    _, found = starting_recipe(str(data), {"model": str(tiny_bert)})
    assert found.labels == ("bad", "good")
    lines = [{"words": ["a", "b"], "tags": ["B-X", "O"]}] * 20 + [{"words": ["a"], "tags": ["B-Y", "O"]}]
    (tmp_path / "tags.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert starting_recipe(str(tmp_path / "tags.jsonl"), {})[1].types == ("X",)


def test_the_commands(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    def call(*arguments: str, data: Path = tmp_path) -> tuple[int, str, str]:
        return in_process(*arguments, data=data)

    written(tmp_path / "reviews.csv", [("review", "mark"), *REVIEWS])
    settings = ["train.epochs=1", "max_length=16", f"model={tiny_bert}"]
    code, printed, _ = call("init", "reviews.csv", *settings)
    assert code == 0
    assert printed.startswith("# finetune run my.toml\n")
    (tmp_path / "my.toml").write_text(printed)
    code, shown, _ = call("run", "my.toml")
    assert code == 0
    assert "8 rows" in shown
    assert "already done" in call("run", "reviews.csv", *settings)[2]  # the recipe that was guessed is the same run
    code, answered, _ = call("predict", "reviews.csv", "reviews.csv", "--json")
    facts = json.loads(answered)
    assert (code, facts["output"], facts["rows"]) == (0, "reviews.predicted.csv", 80)
    assert len(read(tmp_path / "reviews.predicted.csv")) == 80
    assert "macro f1" in facts["scores"]
    code, shown, _ = call("predict", "reviews.csv", "reviews.csv", "-o", "out.csv", "--quiet")
    assert "80 rows in" in shown
    assert "good: f1" in shown
    for arguments, said in (
        (["none.csv"], "none.csv"),
        (["reviews.csv", "colour=red"], "'colour' is not a setting"),
    ):
        code, _, error = call("predict", "reviews.csv", *arguments)
        assert (code, "Traceback" in error) == (2, False)
        assert said in error


def test_a_run_is_scored_on_another_file(reviews: Path, in_process: InProcess, tmp_path: Path) -> None:
    def call(*arguments: str) -> tuple[int, str, str]:
        return in_process("evaluate", str(reviews), *arguments, data=tmp_path)

    written(tmp_path / "more.csv", [("review", "mark"), *REVIEWS[:9], ("a text", "")])
    code, shown, said = call("more.csv")
    assert (code, "1 row" in said) == (0, True)
    assert "more.csv macro f1 100.0" in shown
    assert "rows of dev have texts that run" in said  # the rows of the file are training rows
    own = str(reviews.parents[2] / "reviews.csv")
    assert "72 of the 80 rows of dev have texts that run" in call(own)[2]
    written(tmp_path / "other.csv", [("text", "mark"), ("the cat", "good")])
    code, _, said = call("other.csv")
    assert (code, len(said.splitlines())) == (2, 1)
    assert "review" in said and "text=text" in said


def test_evaluate_and_predict_leave_the_same_labels_out_of_the_scores(
    reviews: Path, in_process: InProcess, tmp_path: Path
) -> None:
    written(tmp_path / "more.csv", [("review", "mark"), *REVIEWS[:9], ("a text", "goood"), ("another", "fine")])
    code, scores, said = in_process("evaluate", str(reviews), "more.csv", "--json", data=tmp_path)
    assert code == 0, said
    unknown = "2 rows with the labels 'goood', 'fine', unknown to the model (rows 10, 11; lines 11, 12)"
    assert f"more.csv: {unknown}; left out" in said
    code, facts, _ = in_process("predict", str(reviews), "more.csv", "-o", "out.csv", "--json", data=tmp_path)
    predicted = json.loads(facts)
    assert code == 0
    assert predicted["scores"] == json.loads(scores)["dev"]
    assert f"{unknown}; not scored" in predicted["notes"]
    assert len(read(tmp_path / "out.csv")) == 11


def test_rows_without_a_label_are_predicted_and_a_note_says_that_they_are_not_scored(
    reviews: Path, in_process: InProcess, tmp_path: Path
) -> None:
    written(tmp_path / "part.csv", [("review", "mark"), *REVIEWS[:9], ("a text", ""), ("another", "")])
    code, facts, _ = in_process("predict", str(reviews), "part.csv", "-o", "out.csv", "--json", data=tmp_path)
    predicted = json.loads(facts)
    assert (code, predicted["rows"]) == (0, 11)
    assert "2 rows without a label (rows 10, 11; lines 11, 12); not scored" in predicted["notes"]
    written(tmp_path / "none.csv", [("review", "mark"), ("a text", "")])
    code, facts, _ = in_process("predict", str(reviews), "none.csv", "-o", "out2.csv", "--json", data=tmp_path)
    assert (code, json.loads(facts)["scores"]) == (0, {})


def test_files_of_any_name_find_their_run(tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("리뷰.csv", "my reviews (1).csv"):
        data = written(tmp_path / name, [("review", "mark"), *REVIEWS[:20]])
        recipe, _ = starting_recipe(name, {"model": str(tiny_bert), **FAST, "train.epochs": 1})
        record = run(
            resolved_run(recipe), RunOptions(source=Source(), out=Path("results"), device="cpu"), watch=unwatched
        )
        found = latest_run(name, Path("results"))
        assert found is not None and found.path.name == record.id
        data.unlink()  # a run is found by the name of its data, also where the data is not
        again = latest_run(name, Path("results"))
        assert again is not None and again.path == found.path
    assert sorted(path.name for path in Path("results").iterdir()) == ["my-reviews-1-.csv", "리뷰.csv"]
    old = {name: re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") for name in ("a b.csv", "x.py:t", "a_(1)", ".b-")}
    assert {name: folder_name(name) for name in old} == old  # as they were before other scripts were kept


@pytest.mark.slow
def test_lines_come_and_go_through_a_pipe(reviews: Path) -> None:
    command = [sys.executable, "-m", "finetune", "predict", str(reviews), "-"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for text, answer in (("the cat sat", "good"), ("the dog sat", "bad")):
            running.stdin.write(f"{text}\n")
            running.stdin.flush()
            assert json.loads(running.stdout.readline())["prediction"] == answer  # before the next line is there
        running.send_signal(signal.SIGINT)
        assert running.wait(300) == 130
        assert running.stderr is not None
        assert running.stderr.read().splitlines()[-1].startswith("stopped by Ctrl-C: the same command")

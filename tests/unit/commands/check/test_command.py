"""`finetune check`: exit codes, JSON, what a run refuses, and mistakes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.checked_files import (
    Check,
    korean,
    korean_encoder,
    labels,
    questions,
    reviews,
    severities,
    tagged,
    texts,
    write_csv,
    write_jsonl,
)
from support.cli import InProcess, assert_error

import finetune


def test_only_what_spoils_a_run_ends_with_1(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    model = f"model={tiny_bert}"
    reviews(tmp_path / "few.csv", 200, text={5: "", 8: texts(200)[2]}, label={8: labels(200)[2], 9: ""})
    reviews(tmp_path / "one.csv", 60, label=dict.fromkeys(range(1, 61), "good"))
    for file, options, expected in (
        ("few.csv", [], 0),
        ("few.csv", ["--strict"], 1),
        ("few.csv", ["--strict", "--json"], 1),
        ("one.csv", ["label=label"], 1),
    ):
        code, _, err = in_process("check", file, model, *options, data=tmp_path)
        assert (code, err) == (expected, "")


def test_severities_follow_from_what_a_finding_does_to_a_run(tmp_path: Path, check: Check) -> None:
    again = {row: texts(400)[0] for row in range(3, 23, 2)}  # with the label of the first row
    few = severities(check(reviews(tmp_path / "a.csv", 400, text=again | {30: "", 40: texts(400)[0]})))
    assert few["duplicate"] == few["contradiction"] == "note" and few["missing-text"] == "warning"
    many = {row: texts(60)[0] for row in range(3, 23, 2)} | dict.fromkeys(range(24, 34, 2), texts(60)[0])
    found_many = severities(check(reviews(tmp_path / "b.csv", 60, text=many)))
    assert found_many["duplicate"] == found_many["contradiction"] == "warning"
    most = severities(check(reviews(tmp_path / "c.csv", 60, text=dict.fromkeys(range(1, 41), ""))))
    assert most["missing-text"] == "error"
    train = texts(400)
    for name, dev in (("few", [*texts(199, seed=9), train[0]]), ("many", [*texts(190, seed=9), *train[:10]])):
        for split, made in (("train", train), ("dev", dev)):
            rows = zip(made, labels(len(made)), strict=True)
            write_csv(tmp_path / name / f"{split}.csv", [["text", "label"], *rows])
        assert severities(check(tmp_path / name))["leak"] == {"few": "warning", "many": "error"}[name]
    for name, label in (("few", "new"), ("most", "all")):
        dev = [(text, label if i == 0 or label == "all" else "good") for i, text in enumerate(texts(40, seed=9))]
        write_csv(tmp_path / f"u{name}" / "train.csv", [["text", "label"], *zip(train, labels(400), strict=True)])
        write_csv(tmp_path / f"u{name}" / "dev.csv", [["text", "label"], *dev])
        assert severities(check(tmp_path / f"u{name}"))["unseen-label"] == {"few": "warning", "most": "error"}[name]


UNSOUND: dict[str, tuple[list[dict[str, Any]], dict[str, str], str]] = {
    "one class": ([{"text": t, "label": "a"} for t in texts(30)], {"label": "label"}, "all 30 labelled rows have"),
    "one of several": ([{"text": t, "labels": ["a"]} for t in texts(30)], {}, "have no label but 'a'"),
    "no label at all": ([{"text": t, "labels": []} for t in texts(30)], {}, "all 30 labelled rows have no label"),
    "one number": ([{"text": t, "score": 1.5} for t in texts(30)], {"shape": "regression"}, "the same number"),
    "no entity": ([{"words": t.split(), "tags": ["O"] * 12} for t in texts(30)], {}, "nothing is in an entity"),
    "no answer": (
        [{"question": t[:20], "context": t, "answers": []} for t in texts(30)], {}, "no question has an answer"
    ),
    "no label cell": ([{"text": t, "label": None} for t in texts(30)], {"label": "label"}, "no row has a label"),
    "no label column": ([{"text": t} for t in texts(30)], {}, "no label column was found"),
    "texts for numbers": (
        [{"text": t, "label": "ab"[i % 2]} for i, t in enumerate(texts(30))], {"shape": "regression"}, "is not a number"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSOUND)
def test_a_run_refuses_what_check_calls_an_error(
    name: str, in_process: InProcess, tmp_path: Path, tiny_bert: Path
) -> None:
    rows, settings, said = UNSOUND[name]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    given = [f"{key}={value}" for key, value in settings.items()]
    code, out, _ = in_process("check", path.name, f"model={tiny_bert}", "--json", *given, data=tmp_path)
    (error,) = [one for one in json.loads(out)["findings"] if one["severity"] == "error"]
    assert code == 1 and said in error["message"]
    for command in ("run", "init"):
        code, _, err = in_process(command, path.name, f"model={tiny_bert}", *given, data=tmp_path)
        assert code == 2
        assert_error(err, f"error: a.jsonl: {error['message']}", error["remedy"])


def test_a_run_refuses_files_of_splits_that_do_not_fit(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    reviews(tmp_path / "data" / "train.csv")
    for column, label, said in (("texts", "good", "has no column 'text'"), ("text", "new", "train.csv: 'new'")):
        rows = [[text, label] for text in texts(20, seed=4)]
        write_csv(tmp_path / "data" / "dev.csv", [[column, "label"], *rows])
        code, _, err = in_process("run", "data", f"model={tiny_bert}", data=tmp_path)
        assert code == 2
        assert_error(err, said)


@pytest.mark.parametrize("kind", ["csv", "tagging", "span", "choice", "korean", "regression", "multi-label"])
def test_clean_data_ends_with_0(kind: str, in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    many = texts(60)
    choices = [[f"{name} {i} {many[i][:9]}" for name in ("first", "second", "third")] for i in range(60)]
    files: dict[str, Callable[[], Path]] = {
        "csv": lambda: reviews(tmp_path / "a.csv"),
        "tagging": lambda: write_jsonl(tmp_path / "a.jsonl", tagged(60)),
        "span": lambda: write_jsonl(tmp_path / "a.jsonl", questions(60)),
        "choice": lambda: write_csv(
            tmp_path / "a.csv",
            [
                ["context", "choice1", "choice2", "choice3", "label"],
                *([t, *c, i % 3] for i, (t, c) in enumerate(zip(many, choices, strict=True))),
            ],
        ),
        "korean": lambda: write_csv(
            tmp_path / "a.csv", [["문장", "감정"], *([korean(i), "긍정" if i % 2 else "부정"] for i in range(60))]
        ),
        "regression": lambda: write_csv(
            tmp_path / "a.csv", [["text", "score"], *([t, i / 7] for i, t in enumerate(many))]
        ),
        "multi-label": lambda: write_jsonl(
            tmp_path / "a.jsonl", [{"text": t, "labels": ["a", "b", "c"][i % 3 :]} for i, t in enumerate(many)]
        ),
    }
    model = korean_encoder(tiny_bert, tmp_path / "ko", pieces=False) if kind == "korean" else tiny_bert
    code, out, err = in_process("check", str(files[kind]()), f"model={model}", "max_length=128", data=tmp_path)
    assert (code, err) == (0, ""), out


def test_json_is_one_object(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    path = reviews(tmp_path / "a.csv", count=1500, text=dict.fromkeys(range(1, 1201), ""))
    code, out, _ = in_process("check", str(path), f"model={tiny_bert}", "--json", data=tmp_path)
    assert code == 1
    said = json.loads(out)
    assert set(said) == {"files", "format", "rows", "layout", "findings", "counts"}
    assert said["rows"] == {"train": 1500}
    assert said["layout"]["text"] == ["text"] and said["layout"]["reasons"]["label"] == "its name"
    (finding,) = (finding for finding in said["findings"] if finding["code"] == "missing-text")
    assert set(finding) == {"severity", "code", "message", "remedy", "file", "rows", "lines", "count"}
    assert finding["count"] == 1200
    assert finding["rows"] == list(range(1, 1001)) and finding["lines"] == list(range(2, 1002))
    assert sum(said["counts"].values()) == len(said["findings"])
    severities = [finding["severity"] for finding in said["findings"]]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.csv"], "'nowhere.csv'"),
        (["empty.csv"], "empty.csv: is empty"),
        (["good.csv", "text=txet"], "Did you mean 'text'"),
        (["good.csv", "epochs=3"], "Did you mean 'train.epochs'"),
        (["good.csv", "good.csv"], "Check one at a time"),
        (["good.csv", "--fix", "good.csv"], "output would overwrite the input"),
        (["good.csv", "--fix", "new.docx"], "new.docx"),
        (["good.csv", "--fix", "nowhere/new.csv"], "nowhere/new.csv: cannot be written"),
        (["lists.jsonl", "--fix", "new.csv"], ".jsonl"),
        (["folder", "--fix", "new.csv"], "folder"),
        (["glue-rte", "--fix", "new.csv"], "--fix"),
        (["zip.csv"], "zip"),
    ],
)
def test_what_cannot_be_checked_ends_with_2(
    arguments: list[str], said: str, in_process: InProcess, tmp_path: Path, tiny_bert: Path
) -> None:
    reviews(tmp_path / "good.csv")
    reviews(tmp_path / "folder" / "train.csv")
    write_jsonl(tmp_path / "lists.jsonl", tagged(20))
    (tmp_path / "empty.csv").touch()
    (tmp_path / "zip.csv").write_bytes(b"PK\x03\x04 and more")
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    code, out, err = in_process("check", *arguments, f"model={tiny_bert}", data=tmp_path)
    assert (code, out) == (2, "")
    assert said in err and len(err.splitlines()) == 1
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_check_shows_what_a_run_would_use(in_process: InProcess, rte: Path, tiny_bert: Path) -> None:
    _, out, _ = in_process("check", "glue-rte", f"model={tiny_bert}", "--json", data=rte)
    found = json.loads(out)
    assert found["facts"]["train"]["rows"] == 64
    assert found["facts"]["training"]["updates"] == 6
    assert found["facts"]["model"]["layers"] == 2
    assert found["examples"][0]["tokens"][0][:4] == ["[CLS]", "the", "dog", "sat"]
    (preview,) = finetune.check("glue-rte", model=str(tiny_bert), data_folder=rte)
    assert json.loads(json.dumps(preview.facts)) == found["facts"]
    assert "[CLS] the dog sat" in in_process("check", "glue-rte", f"model={tiny_bert}", data=rte)[1]

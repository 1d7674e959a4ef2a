"""What trackers are sent, and that none of them costs a run or changes a result."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess, assert_error
from support.records import made_record
from support.trackers import Keeping

import finetune
from finetune.errors import UserError
from finetune.runs.events import Note
from finetune.training.run_options import RunOptions
from finetune.training.tracking import sender, tracking, values
from finetune.training.tracking.names import tracker_names
from finetune.training.tracking.values import Points, final_numbers, final_table, finite_numbers, settings, tracker_name

pytestmark = pytest.mark.usefixtures("own_trackers")
ROWS = [f"the {'cat' if i % 2 else 'dog'} sat {i},{'ab'[i % 2]}" for i in range(40)]
DIFFERING = {"finished", "seconds", "examples_per_second", "peak_memory_bytes", "checksum", "cost"}


def trained(folder: Path, model: Path, *, epochs: int = 2, **more: Any) -> tuple[dict[str, Any], list[str], Path]:
    """(what decides the record, notes but that on few rows, the run's folder) of a run."""
    notes: list[str] = []

    def watch(event: Any) -> None:
        notes.extend([event.text] if isinstance(event, Note) and "few rows" not in event.text else [])

    file = folder.parent / "rows.csv"
    file.write_text("\n".join(["text,label", *ROWS]) + "\n")
    run = finetune.train(
        file, model=model, out=folder, device="cpu", max_length=16, callbacks=watch,
        train={"epochs": epochs, "batch_size": 8, "learning_rate": 1e-3}, **more,
    )  # fmt: skip
    record = json.loads((run.folder / "record.json").read_text())
    sums = json.loads((run.folder / "model" / "checksums.json").read_text())
    return (
        {key: value for key, value in record.items() if key not in DIFFERING} | {"model sums": sums},
        notes,
        run.folder,
    )


def files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def test_a_tracker_gets_settings_losses_scores_and_final_numbers(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    record, notes, _ = trained(tmp_path / "results", tiny_bert, track=["keeping"])
    (given,) = Keeping.settings
    assert (given["task"], given["model"]) == ("rows.csv", tiny_bert.name)  # without the folders of this machine
    assert (given["train.learning_rate"], given["train.epochs"], given["max_length"]) == (1e-3, 2, 16)
    losses = {step: numbers["train/loss"] for step, numbers in Keeping.points if "train/loss" in numbers}
    assert max(losses) == 2 * -(-record["rows"]["train"] // 8)
    assert all(
        {"train/learning_rate", "train/examples_per_second"} <= set(p) for _, p in Keeping.points if "train/loss" in p
    )
    by_epoch = [numbers for _, numbers in Keeping.points if "epoch" in numbers]
    assert [numbers["dev/accuracy"] for numbers in by_epoch] == [
        e["scores"]["dev"]["accuracy"] for e in record["epochs"]
    ]
    last, final = Keeping.points[-1]
    assert last == max(losses)
    assert final["final/dev/accuracy"] == record["scores"]["dev"]["accuracy"]
    assert final["final/dev/majority/accuracy"] == record["baselines"]["dev"]["majority"]["accuracy"]
    assert (len(Keeping.finished), notes) == (1, [])


@pytest.fixture(scope="module")
def untracked(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """(what decides the record, the run's folder) of a run without a tracker."""
    record, _, folder = trained(tmp_path_factory.mktemp("untracked") / "results", tiny_bert)
    return record, folder


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["keeping", "raising", "closed", "hanging", "slow"])
def test_with_any_tracker_record_and_files_are_those_without(
    name: str, untracked: tuple[dict[str, Any], Path], tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "END_SECONDS", 0.5)
    monkeypatch.setattr(sender, "PAUSE_SECONDS", 0.01)
    plain, plain_folder = untracked
    started = time.monotonic()
    found, notes, folder = trained(plain_folder.parents[2] / name, tiny_bert, track=[name])
    assert time.monotonic() - started < 30
    assert found == plain
    assert files(folder) == files(plain_folder)
    assert [line.get("text") for line in map(json.loads, (folder / "events.jsonl").read_text().splitlines())
            if name in str(line.get("text"))] == []  # fmt: skip
    said = {"keeping": "", "raising": "no such server", "closed": "refused", "hanging": "0.5 s", "slow": "0.5 s"}[name]
    assert len(notes) == bool(said)
    assert all(name in note and said in note and f"finetune track {folder.name} --to {name}" in note for note in notes)


@pytest.mark.nightly
def test_a_hung_tracker_is_left_out_while_the_run_trains(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "CALL_SECONDS", 0.05)
    started = time.monotonic()
    _, notes, _ = trained(tmp_path / "results", tiny_bert, epochs=30, track="hanging,keeping")
    assert [note.split(";")[0] for note in notes if "hanging" in note] == [
        "hanging is left out: it has not answered for 0.05 s"
    ]
    assert Keeping.finished
    assert time.monotonic() - started < 60


def test_what_waits_is_bounded(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "MOST_WAITING", 3)
    monkeypatch.setattr(tracking, "END_SECONDS", 5.0)
    _, notes, _ = trained(tmp_path / "results", tiny_bert, track="slow")
    assert [note.split(":")[0] for note in notes] == ["slow did not take everything"]


def test_a_finished_run_is_not_sent_again_but_says_how(tiny_bert: Path, tmp_path: Path) -> None:
    trained(tmp_path / "results", tiny_bert)
    _, notes, folder = trained(tmp_path / "results", tiny_bert, track="keeping")
    assert Keeping.points == []
    assert notes == [f"finished runs are sent with `finetune track {folder.name} --to keeping`"]


def test_only_the_first_process_tracks(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from finetune.training import run_many

    seen: list[tuple[str, ...]] = []
    monkeypatch.setattr(run_many, "run", lambda *_, **__: 0.5)
    monkeypatch.setattr(run_many, "tracked", lambda names, watch: seen.append(names) or tracking.tracked((), watch))
    given = RunOptions(source=None, out=tmp_path, track=("keeping",))  # type: ignore[arg-type]
    for rank in "01":
        monkeypatch.setenv("RANK", rank)
        planned = type(
            "ResolvedRun", (), {"recipe": None, "default": None, "task": None, "encoder": None, "members": ()}
        )()
        run_many.train_run(planned, given, lambda event: None)
    assert seen == [("keeping",), ()]


def test_the_log_of_a_finished_run_gives_the_points_of_the_live_one(
    in_process: InProcess, tiny_bert: Path, tmp_path: Path
) -> None:
    _, _, folder = trained(tmp_path / "results", tiny_bert, track="keeping")
    live, given = list(Keeping.points), list(Keeping.settings)
    Keeping.points.clear()
    code, _, err = in_process("track", folder.name, "--to", "keeping", data=tmp_path)
    assert (code, err.splitlines()[-1]) == (0, f"{folder.name}: sent to keeping")
    assert Keeping.points == live
    assert Keeping.settings == given * 2


def test_a_run_without_a_log_is_sent_by_its_record(in_process: InProcess, reviews: Path, tmp_path: Path) -> None:
    import shutil

    there = tmp_path / "results" / reviews.parent.name / reviews.name
    there.mkdir(parents=True)
    shutil.copy(reviews / "record.json", there)
    code, _, err = in_process("track", reviews.name, "--to", "keeping", "--quiet", data=tmp_path)
    assert (code, err) == (0, "")
    epochs = [(step, numbers["epoch"]) for step, numbers in Keeping.points if "epoch" in numbers]
    assert epochs == [(9 * (n + 1), float(n + 1)) for n in range(len(epochs))] != []
    assert any("final/dev/accuracy" in numbers for _, numbers in Keeping.points)


def test_track_says_in_a_line_what_a_tracker_did_not_take(
    in_process: InProcess, reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "PAUSE_SECONDS", 0.01)
    out = str(reviews.parents[1])
    code, _, err = in_process("track", reviews.name, "--to", "closed", "--out", out, "--quiet", data=tmp_path)
    assert code == 2
    assert_error(err, "closed", "ConnectionError: refused")


def test_wrong_names_are_one_line_before_anything_starts(
    in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for given, words in (("mlfow", ["'mlfow'", "Did you mean 'mlflow'"]), ("aim", ["'aim'", "pip install aim"])):
        for command in (["run", "no-such-recipe", "--track", given], ["track", "no-such-run", "--to", given]):
            code, _, err = in_process(*command, data=tmp_path)
            assert code == 2
            assert len(err.splitlines()) == 1
            assert_error(err, *words)
    code, _, err = in_process("track", "no-such-run", "--to", "", data=tmp_path)
    assert code == 2
    assert_error(err, "--to names no tracker")
    with pytest.raises(UserError, match="there is no tracker"):
        finetune.train("rows.csv", track=["wandbb"])
    assert tracker_names("tensorboard, mlflow,,mlflow") == ("tensorboard", "mlflow")


def test_names_and_numbers_are_ones_that_every_library_takes() -> None:
    assert tracker_name("dev/f1 (B/C)") == "dev/f1 _B/C_"
    assert tracker_name("//../a:b/한글") == "_/_/_/a_b/한글"
    assert len(tracker_name("x" * 1_000)) <= 250
    given = {"a": 1, "b": float("nan"), "c": None, "d": float("-inf"), "e+": 2.0, "e-": 3.0, "e*": 4.0}
    assert finite_numbers(given) == {"a": 1.0, "e_": 2.0, "e-": 3.0, "e__2": 4.0}
    flat = settings({"a": {"b": {"c": 1}}, "d": None, "e": [1, 2], "f": "x" * 7_000, "g": True, "h": float("nan")})
    assert flat["a.b.c"] == 1
    assert (flat["d"], flat["e"], flat["g"], flat["h"]) == ("null", "[1, 2]", True, "NaN")
    assert len(str(flat["f"])) == 6_000


def test_many_scores_are_sent_a_hundred_at_a_time() -> None:
    points = list(Points().at_end({f"f{n}": n for n in range(250)}, 0.0))
    assert [len(point.numbers) for point in points] == [100, 100, 50]


def test_losses_are_means_of_a_few_updates() -> None:
    points = Points()
    assert list(points.of("training", {"updates": 20, "done": 0, "epochs": 2, "examples": 40}, 0.0)) == []
    facts = {"update": 20, "losses": list(range(1, 21)), "rates": [0.1] * 20, "seconds": 10.0}
    found = list(points.of("updates", facts, 100.0))
    assert [(p.step, p.time, p.numbers["train/loss"]) for p in found] == [
        (8, 94.0, 4.5),
        (16, 98.0, 12.5),
        (20, 100.0, 18.5),
    ]
    assert found[0].numbers["train/examples_per_second"] == 8.0
    assert len({values.tracker_name(name) for name in found[0].numbers}) == 3


def test_the_final_table_has_undefined_scores_which_numbers_leave_out() -> None:
    record = made_record(
        "mrpc", scores={"dev": {"accuracy": 0.5, "f1": float("nan")}}, rows={"dev": 4},
        baselines={"dev": {"majority": {"accuracy": 0.25, "f1": 0.0}}},
    )  # fmt: skip
    assert finite_numbers(final_numbers(record)) == {
        "final/dev/accuracy": 0.5, "final/dev/majority/accuracy": 0.25, "final/dev/majority/f1": 0.0
    }  # fmt: skip
    assert final_table(record)[1] == [["dev", "accuracy", "50.0", "25.0"], ["dev", "f1", "nan", "0.0"]]

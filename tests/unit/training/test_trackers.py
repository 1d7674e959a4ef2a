"""What trackers get, and that one that fails costs no run and changes no result."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.trackers import Keeping

import finetune
from finetune.errors import UserError
from finetune.runs.events import Note
from finetune.training import run_many, run_options
from finetune.training.run_options import RunOptions, tracked, tracker_names

ROWS = [f"the {'cat' if i % 2 else 'dog'} sat {i},{'ab'[i % 2]}" for i in range(40)]


@pytest.fixture
def train(own_trackers: None, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Trains with trackers: (record, notes about trackers) of the run."""
    monkeypatch.chdir("/")
    names = ("keeping", "raising", "closed")
    monkeypatch.setattr(run_options, "TRACKERS", dict.fromkeys(names, lambda run: {"run_name": run.parent.name}))
    monkeypatch.setattr(run_options, "find_spec", lambda name: name)
    (tmp_path / "rows.csv").write_text("\n".join(["text,label", *ROWS]) + "\n")

    def trained(track: str, out: str = "results") -> tuple[dict[str, Any], list[str]]:
        notes: list[str] = []

        def watch(event: Any) -> None:
            notes.extend([event.text] if isinstance(event, Note) else [])

        run = finetune.run(
            tmp_path / "rows.csv", model=tiny_bert, out=tmp_path / out, device="cpu", max_length=16, callbacks=watch,
            train={"epochs": 2, "batch_size": 8, "learning_rate": 1e-3}, track=track,
        )  # fmt: skip
        kept = [note for note in notes if any(name in note for name in names)]
        return json.loads((run.folder / "record.json").read_text()), kept

    return trained


def test_a_tracker_gets_settings_losses_and_scores(train: Any, tiny_bert: Path) -> None:
    record, notes = train("keeping")
    (given,) = Keeping.settings
    assert (given["task"], given["model"]) == ("rows.csv", tiny_bert.name)  # without the folders of this machine
    assert (given["train.learning_rate"], given["train.epochs"], given["max_length"]) == (1e-3, 2, 16)
    updates = [(step, numbers) for step, numbers in Keeping.points if "train/loss" in numbers]
    last = 2 * -(-record["rows"]["train"] // 8)
    assert updates[-1][0] == last
    assert "train/learning_rate" in updates[-1][1]
    scores = [numbers["dev/accuracy"] for _, numbers in Keeping.points if "epoch" in numbers]
    assert scores == [epoch["scores"]["dev"]["accuracy"] for epoch in record["epochs"]]
    step, final = Keeping.points[-1]
    assert (step, final["final/dev/accuracy"]) == (last, record["scores"]["dev"]["accuracy"])
    assert (len(Keeping.finished), notes) == (1, [])


def test_one_that_fails_is_left_out_with_a_note_and_the_run_is_the_same(train: Any) -> None:
    record, notes = train("raising,closed,keeping")
    assert sorted(notes) == [
        "closed is left out: ConnectionError: refused; training continues",
        "raising is left out: SystemExit: no such server; training continues",
    ]
    assert len(Keeping.finished) == 1
    plain, _ = train("", out="plain")
    assert [record[key] for key in ("id", "scores", "epochs")] == [plain[key] for key in ("id", "scores", "epochs")]


def test_a_finished_run_is_not_sent(train: Any) -> None:
    train("")
    _, notes = train("keeping")
    assert Keeping.points == []
    assert notes == ["keeping: not sent, for the run is finished; `force` trains it again"]


def test_only_the_first_process_tracks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, ...]] = []
    monkeypatch.setattr(run_many, "run", lambda *_, **__: 0.5)
    monkeypatch.setattr(run_many, "tracked", lambda names, watch: seen.append(names) or tracked((), watch))
    given = RunOptions(source=None, out=tmp_path, track=("keeping",))  # type: ignore[arg-type]
    for rank in "01":
        monkeypatch.setenv("RANK", rank)
        planned = type(
            "ResolvedRun", (), {"recipe": None, "default": None, "task": None, "encoder": None, "members": ()}
        )()
        run_many.train_run(planned, given, lambda event: None)
    assert seen == [("keeping",), ()]


def test_names_are_checked_before_anything_starts() -> None:
    assert tracker_names(" tensorboard, tensorboard") == ("tensorboard",)
    with pytest.raises(UserError, match="Did you mean 'tensorboard'"):
        tracker_names(["tensorbord"])

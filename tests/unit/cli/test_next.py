"""The last line of a command on a terminal is what to do next; what is piped has no such line."""

import io
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune
from support.records import run
from support.runs import FinishedRun

from finetune.cli.console import Terminal
from finetune.cli.run_facts import next_line
from finetune.cli.run_tables import print_record
from finetune.runs.record import RunRecord, SavedMetric


@pytest.mark.parametrize("kind", ["terminal", "pipe"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ls"], "finetune run"),
        (["ls", "--out", "nowhere"], "finetune run"),
        (["table"], "finetune table glue"),
        (["table", "glue"], "finetune table glue --form runs"),
        (["table", "squad"], "finetune table squad -o squad.md"),
        (["check", "rows.csv"], "finetune run rows.csv"),
        (["check", "rows.csv", "--fix", "fixed.csv"], "finetune run fixed.csv"),
        (["show", "RUN"], "finetune report"),
        (["show", "RUN", "--all"], "finetune report"),
    ],
)
def test_next(
    here: Finetune, finished_run: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str,
    arguments: list[str], words: str,
) -> None:  # fmt: skip
    if kind == "terminal":
        monkeypatch.setenv("FORCE_COLOR", "1")
    (tmp_path / "rows.csv").write_text("text,label\n" + "".join(f"the cat sat {i},{'ab'[i % 2]}\n" for i in range(40)))
    done = here(*[argument.replace("RUN", str(finished_run("sentence"))) for argument in arguments])
    last = done.stdout.splitlines()[-1]
    assert ("next: " in last and words in last) == (kind == "terminal"), done.stdout + done.stderr


def test_show_has_the_verdict_first_then_scores_and_six_facts(here: Finetune, finished_run: FinishedRun) -> None:
    run = finished_run("sentence")
    short, whole = here("show", run).stdout.splitlines(), here("show", run, "--all").stdout.splitlines()
    assert " than " in short[0]
    assert "│ dev   │ this run" in "\n".join(short[:8]) and "majority" in "\n".join(short[:8])
    facts = short[short.index("facts") + 2 :]
    assert [line.split()[1] for line in facts[:6]] == ["model", "settings", "rows", "data", "trained", "folder"]
    assert "peak_memory_bytes" in "\n".join(whole) and "peak_memory_bytes" not in "\n".join(short)


def named(*names: str, **settings: Any) -> list[RunRecord]:
    """Runs of other seeds with these ids."""
    return [run(0.8, seed=seed, **settings).model_copy(update={"id": name}) for seed, name in enumerate(names)]


def test_seeds_of_one_setting_are_reported_and_only_settings_are_compared() -> None:
    assert next_line(named("a")) == "next: finetune predict a FILE, finetune report a"
    assert next_line(named("a", "b")) == "next: finetune report a b, finetune show a"
    several = [*named("a", "b"), *named("c", "d", frozen=True)]
    assert next_line(several).startswith("next: finetune compare a c --seeds, finetune report a b c d")
    assert next_line([*named("a"), *named("c", frozen=True)]).startswith("next: finetune compare a c, ")
    assert "compare" not in next_line([*named("a"), *named("c", task="cola")])
    assert next_line(named(*"abcdefghijk")) == "next: finetune show a"


def test_a_run_that_is_worse_than_its_baseline_is_followed_by_another_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my reviews.csv").write_text("text,label\n")
    worse = run(0.4, task="my reviews.csv")
    assert next_line([worse]) == "next: finetune run 'my reviews.csv' model=NAME, finetune report 1"
    note = "it does not fit. Choose an encoder for the language: model=klue/bert-base, or beomi/kcbert-base"
    suggested = worse.model_copy(update={"notes": [note]})
    assert next_line([suggested]).startswith("next: finetune run 'my reviews.csv' model=klue/bert-base, ")
    assert next_line([run(0.9, task="my reviews.csv")]).startswith("next: finetune predict 1 FILE")


def test_a_note_of_several_runs_is_printed_once() -> None:
    records = [record.model_copy(update={"notes": ["the same", record.id]}) for record in named("a", "b")]
    console, text, printed = Terminal(), io.StringIO(), set[str]()
    console.file = text
    for record in records:
        print_record(console, record, printed=printed)
    lines = [line for line in text.getvalue().splitlines() if line.startswith("note: ")]
    assert lines == ["note: the same", "note: a", "note: b"]


def test_the_encoder_of_a_text_is_fine_tuned_however_it_compares() -> None:
    for score in (0.2, 0.9):
        of_text = {
            "headline": "perplexity",
            "scores": {"dev": {"perplexity": score}},
            "baselines": {"dev": {"bigram": {"perplexity": 0.5}}},
            "metrics": {"perplexity": SavedMetric(scale=1, greater_is_better=False, magnitudes=True)},
        }
        made = run(score, task="corpus.txt").model_copy(update=of_text)
        assert next_line([made]) == f"next: finetune run YOURS.csv model={made.id}, finetune report {made.id}"

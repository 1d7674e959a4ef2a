"""The last line of a command on a terminal is what to do next; what is piped has no such line."""

from pathlib import Path

import pytest
from support.cli import Finetune
from support.runs import FinishedRun


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

"""Texts of a task that occur in the text on which its encoder was pre-trained."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.cli import InProcess

from finetune.commands.check.read_before import Earlier, ReadBefore, read_before
from finetune.data.source import source_of
from finetune.runs.record_files import all_records
from finetune.task_types.own_data import own_task

NOWHERE = source_of(None)
SHARED = "The river is old and wide."


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own, with its cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def write_corpus(*texts: str, documents: int = 60) -> Earlier:
    """A corpus of documents of two lines, and these documents."""
    usual = (f"Line {n} of a text.\nA second line {n * 7}." for n in range(documents))
    Path("corpus.txt").write_text("\n\n".join([*usual, *texts]) + "\n")
    return Earlier(task="corpus.txt", options={}, limit=None)


def found_in(earlier: Earlier, rows: Sequence[dict[str, object]], **options: str) -> ReadBefore:
    """What of these rows, as dev, occurs in a corpus."""
    for name, some in (("dev.jsonl", rows), ("train.jsonl", [*rows] * 4)):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in some))
    return read_before(own_task("train.jsonl", {"dev": "dev.jsonl", **options}), [earlier], NOWHERE)


def labelled(*texts: str) -> list[dict[str, object]]:
    return [{"text": text, "label": str(place % 2)} for place, text in enumerate(texts)]


def test_a_text_is_a_line_or_a_whole_document_but_for_case_and_spaces() -> None:
    corpus = write_corpus(SHARED, "One line here.\nand one there")
    texts = ["the  RIVER is old\u200b and wide.", "One line here. And one there", "One line here", "river is old"]
    found = found_in(corpus, labelled(*texts))
    assert found.facts == {"corpus.txt": {"dev": "2 of 4"}}
    (finding,) = found.findings
    assert (finding.severity, finding.code) == ("warning", "read-before")
    assert "2 of 4 texts of dev (50 %) occur in corpus.txt" in finding.what and "RIVER" in finding.what
    clean = found_in(corpus, labelled("a text", "one more text"))
    assert clean.facts == {"corpus.txt": {"dev": "0 of 2"}} and not clean.findings


def test_each_text_of_a_pair_and_the_text_of_words_and_answers() -> None:
    corpus = write_corpus(SHARED)
    pairs: list[dict[str, object]] = [{"a": f"Some text {n}", "b": SHARED, "label": "yn"[n % 2]} for n in range(4)]
    assert found_in(corpus, pairs, text="a,b", label="label").facts == {"corpus.txt": {"dev": "1 of 5"}}
    words: list[dict[str, object]] = [
        {"words": SHARED.split(), "tags": ["O", "B-LOC", "O", "O", "O", "O"]},
        {"words": ["Nobody", "lives", "here"], "tags": ["O", "O", "O"]},
    ]
    assert found_in(corpus, words).facts["corpus.txt"]["dev"] == "1 of 1"  # three words may be repeated
    spans: list[dict[str, object]] = [
        {"question": f"What is number {n}?", "context": SHARED, "answers": ["river"]} for n in range(3)
    ]
    assert found_in(corpus, spans).facts == {"corpus.txt": {"dev": "1 of 4"}}


def test_a_corpus_that_is_gone_or_changed_is_not_guessed() -> None:
    corpus = write_corpus(SHARED)
    changed = Earlier(task="corpus.txt", options={}, limit=None, run="0123456789", data="another")
    (finding,) = found_in(changed, labelled(SHARED, "b")).findings
    assert (finding.severity, finding.code) == ("note", "unknown-corpus")
    assert "corpus.txt has changed since the run 0123456789 read it" in finding.what
    Path("corpus.txt").unlink()
    found = found_in(corpus, labelled(SHARED, "b"))
    assert "corpus.txt is not there" in found.findings[0].what and not found.facts
    Path("own.py").write_text("raise SystemExit")
    code = Earlier(task="own.py:mine", options={}, limit=None, run="0123456789", data="another")
    assert "is not executed" in found_in(code, labelled(SHARED, "b")).findings[0].what


def test_check_tells_for_a_run_its_descendant_and_a_recipe(here: Path, in_process: InProcess) -> None:
    write_corpus(SHARED, "One more shared text.", documents=120)
    tiny = ("model=new:1x32x1", "train.updates=1", "max_length=16")
    assert in_process("run", "corpus.txt", *tiny, data="")[0] == 0
    (record,) = all_records(here / "results")
    rows = [f"a text {n}," + "ab"[n % 2] for n in range(40)]
    Path("train.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    Path("dev.csv").write_text("text,label\n" + f"c,a\nd,b\ne,a\n{SHARED},b" + "\n")
    Path("test.csv").write_text("text,label\n" + "f,a\ng,b\none more shared text.,a" + "\n")
    files = ("dev=dev.csv", "test=test.csv")

    code, out, err = in_process("check", "train.csv", *files, f"model={record.id}", data="")
    assert code == 0 and "warning read-before: 1 of 4 texts of dev" in out and "1 of 3 texts of test" in out, err
    clean = in_process("check", "train.csv", "test=test.csv", f"model={record.id}", data="")[1]
    assert "occur in corpus.txt, on which the encoder is pre-trained: dev 0 of 4, test 1 of 3" in clean
    Path("adapted.toml").write_text(
        'task = "corpus.txt"\nmodel = "new:1x32x1"\nmax_length = 16\n[train]\nupdates = 1\n'
    )
    more = '\n[options]\ndev = "dev.csv"\ntest = "test.csv"\n'
    for model in (record.id, "adapted.toml", "adapted.toml train.updates=2"):
        Path("task.toml").write_text(f'task = "train.csv"\nmax_length = 16\nmodel = "{model}"{more}')
        code, out, err = in_process("check", "task.toml", data="")
        assert code == 0, err
        assert "dev 1 of 4, test 1 of 3" in out and f"such as '{SHARED}'" in out
    found = json.loads(in_process("check", "task.toml", "--json", data="")[1].splitlines()[-1])
    assert [one["code"] for one in found["findings"]] == ["read-before"] * 2

    settings = (f"model={record.id}", *tiny[2:], "train.epochs=1")
    assert in_process("run", "train.csv", *files, *settings, data="")[0] == 0
    (child,) = (one for one in all_records(here / "results") if one.lineage)
    assert "1 of 4 texts of dev" in in_process("check", "train.csv", *files, f"model={child.id}", data="")[1]
    Path("corpus.txt").write_text("Another text.\n" * 3)
    assert "note unknown-corpus" in in_process("check", "train.csv", *files, f"model={child.id}", data="")[1]

"""A user's own text to pre-train on: what is read as text, its vocabulary, wrong input, and what follows a run."""

import json
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.corpora import PROSE, TINY_RUN, sentence

from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.models.model_folder import has_own_head
from finetune.runs.record_files import all_records
from finetune.task_types.own_data import own_task
from finetune.task_types.pretraining.task import TextTask

ROWS = "text,label\n" + "".join(f"{sentence(n)},{n % 2}\n" for n in range(60))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A corpus of 240 documents of two lines, in which a word depends on the one before."""
    path = tmp_path / "corpus.txt"
    path.write_text("".join(f"{sentence(n)}\n{sentence(n + 1000)}\n\n" for n in range(240)))
    return path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "cache"


def test_documents_that_dev_has_are_left_out_of_train_however_they_are_divided(
    corpus: Path, in_process: InProcess
) -> None:
    lines = [line for line in corpus.read_text().splitlines() if line]
    (corpus.parent / "flat.txt").write_text("\n".join(lines[:100]) + "\n")
    code, _, err = in_process("run", "corpus.txt", *TINY_RUN, "dev=flat.txt", data="")
    assert code == 0, err
    (record,) = all_records(corpus.parent / "results")
    assert record.rows == {"train": 190, "dev": 100}
    for whole in ("\n".join(lines) + "\n", corpus.read_text()):
        (corpus.parent / "flat.txt").write_text(whole)
        code, _, err = in_process("run", "corpus.txt", *TINY_RUN, "dev=flat.txt", data="")
        assert code == 2
        assert_error(err, "dev=flat.txt", "corpus.txt")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("run corpus.txt", "objective=mlm-nsp", "max_length=4"), ("3 special tokens", "max_length=5")),
        (("run corpus.txt", "train.solver=logistic"), ("train.solver=logistic", "Leave it out")),
        (("run corpus.txt", "mask=spans"), ("'mask=spans' was taken out", "mask=words")),
        (("run corpus.txt", "objective=ltr", "mask=words"), ("objective=ltr masks nothing",)),
        (("run corpus.txt", "objective=mlm-nsp", "train.batch_size=1"), ("train.batch_size is 1", "mlm-nsp")),
        (("search corpus.txt", "max_length=32"), ("fine-tuning", "in updates", "learning_rate")),
        (("check corpus.txt", "--fix", "new.txt"), ("no cells to fix",)),
        (("run empty.txt",), ("empty.txt: is empty",)),
        (("run a.csv",), ("needs a vocabulary",)),
        (("run *.csv",), ("*.csv", "shape=text")),
    ],
    ids=str,
)
def test_what_text_cannot_have_is_one_line(
    typed: tuple[str, ...], words: tuple[str, ...], corpus: Path, in_process: InProcess
) -> None:
    for name, text in {"empty.txt": "", "a.csv": ROWS}.items():
        (corpus.parent / name).write_text(text)
    code, _, err = in_process(*typed[0].split(), TINY_RUN[0], *typed[1:], data="")
    assert code == 2
    assert_error(err, *words)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("word\n" * 40 + "end\n", (1, 40)),
        ("one\ntwo\nthree\n\nfour\nfive\nsix\n\n" * 20, (20, 20)),
        ("".join(f"{PROSE[n % 5]} {PROSE[n % 7]} {PROSE[n % 3]} {PROSE[n % 11]}\n" for n in range(300)), (200, 100)),
        ("".join(f"the same line comes again\nline {n} of this text\n" for n in range(100)), (150, 50)),
    ],
    ids=["one word", "blank lines", "few words", "few first words"],
)
def test_words_on_lines_are_text_and_not_a_table(text: str, sizes: tuple[int, int], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text)
    task = own_task(str(tmp_path / "a.txt"), {})
    assert task.name == "a.txt" and isinstance(task, TextTask)
    assert tuple(len(task.load(source_of(None), split).rows) for split in ("train", "dev")) == sizes


def test_a_column_of_a_table_is_text_where_it_is_named_or_found(tmp_path: Path, in_process: InProcess) -> None:
    path = tmp_path / "ratings.txt"
    path.write_text("id\tdocument\tlabel\n" + "".join(f"{n}\t{sentence(n)}\t{n % 2}\n" for n in range(50)))
    task = own_task(str(path), {"shape": "text", "text": "document"})
    assert task.name == "ratings.txt-text"
    assert {row.text for row in task.load(source_of(None), "train").rows} <= {sentence(n) for n in range(50)}
    (tmp_path / "lines.txt").write_text("one line\nand another\n")
    for name, options, said in (
        ("ratings.txt", {}, "id, document, label.*text=NAME"),
        ("ratings.txt", {"text": "documnt"}, "'document'"),
        ("lines.txt", {"text": "body"}, "without a column 'body'"),
    ):
        with pytest.raises(UserError, match=said):
            own_task(str(tmp_path / name), {"shape": "text", **options}).load(source_of(None), "train")
    rows = "".join(f"{'news' if n % 2 else 'film'},{sentence(n)},{n % 2}\n" for n in range(300))
    (tmp_path / "a.csv").write_text(f"kind,body,label\n{rows}")
    code, checked, err = in_process("check", "a.csv", "shape=text", *TINY_RUN, data="")
    assert code == 0 and "'body' (found" in checked, err
    _, checked, _ = in_process("check", "a.csv", "shape=text", "text=kind", *TINY_RUN, data="")
    assert "'kind'" in checked and "found" not in checked


def test_a_new_encoder_trains_its_vocabulary_once(corpus: Path, cache: Path, in_process: InProcess) -> None:
    code, _, err = in_process("run", "corpus.txt", *TINY_RUN, data="")
    assert code == 0, err
    (record,) = all_records(corpus.parent / "results")
    assert record.task == "corpus.txt" and not record.recipe["tokenizer"]
    assert any("fewer than 8,192" in note for note in record.notes)
    (folder,) = (cache / "vocabularies").iterdir()
    time = (folder / "tokenizer.json").stat().st_mtime_ns
    assert "already" in "".join(in_process("run", "corpus.txt", *TINY_RUN, data="")[1:])
    in_process("run", "corpus.txt", *TINY_RUN, "seed=1", data="")
    assert [path.stat().st_mtime_ns for path in (cache / "vocabularies").rglob("tokenizer.json")] == [time]
    for part in ("train_share=0.5", "held_out.share=0.2"):  # it is of the documents that are trained on
        assert in_process("run", "corpus.txt", *TINY_RUN, part, data="")[0] == 0
    assert len(list((cache / "vocabularies").glob("*/tokenizer.json"))) == 3


def test_what_follows_a_run(corpus: Path, in_process: InProcess) -> None:
    """Other text is scored and predicted as documents of one or several lines; what makes no sense is one line."""
    folder = corpus.parent
    assert in_process("run", "corpus.txt", *TINY_RUN, "mask=words", data="")[0] == 0
    (record,) = all_records(folder / "results")
    for typed, word in (
        (["run", "corpus.txt", f"model={record.id}", "frozen=true", *TINY_RUN[1:]], "frozen"),
        (["explain", record.id, "the river"], "another task type"),
    ):
        code, _, err = in_process(*typed, data="")
        assert code == 2
        assert_error(err, word)
    (folder / "other.txt").write_text("".join(f"{sentence(n)}\n" for n in range(300, 320)))
    for typed in (
        ["evaluate", record.id, "other.txt"],
        ["features", record.id, "other.txt", "-o", "found.npz"],
        ["show", record.id, "--predictions", "3"],
    ):
        code, _, err = in_process(*typed, data="")
        assert code == 0, err
    blocks = ["river\nhill\nbirds", "the old, river", "winter\nleaves\nsmall"]
    texts = {"new.txt": blocks, "lines.txt": ["river", "hill", "river"], "words.txt": [blocks[0], blocks[2]] * 4}
    for name, expected in texts.items():  # the first line is no header, and lines are not taken for rows of words
        joined = "\n\n" if name != "lines.txt" else "\n"
        (folder / name).write_text(joined.join(expected) + "\n")
        code, _, err = in_process("predict", record.id, name, "-o", "found.jsonl", "--quiet", "--force", data="")
        assert code == 0, err
        found = [json.loads(line) for line in (folder / "found.jsonl").read_text().splitlines()]
        assert [one["text"] for one in found] == expected
        assert all(one["perplexity"] > 1 and one["prediction"] for one in found)


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "setting"), [("ltr", "seed=42"), ("mlm", "layers=sum-all")])
def test_a_run_with_a_head_of_our_own_is_pre_trained_further(
    objective: str, setting: str, corpus: Path, in_process: InProcess
) -> None:
    """The head of a fine-tuned left-to-right encoder and of a layer mix, whose head is for another task."""
    results = corpus.parent / "results"
    (corpus.parent / "a.csv").write_text(ROWS)
    assert in_process("run", "corpus.txt", *TINY_RUN, f"objective={objective}", data="")[0] == 0
    assert in_process("run", "a.csv", "model=corpus.txt", setting, "train.epochs=1", data="")[0] == 0
    (tuned,) = (record for record in all_records(results) if record.task == "a.csv")
    assert has_own_head(results / "a.csv" / tuned.id / "model")
    further = ("run", "corpus.txt", f"model={tuned.id}", *TINY_RUN[1:], f"objective={objective}")
    code, _, err = in_process(*further, data="")
    assert code == 0, err
    record = next(one for one in all_records(results) if tuned.id in one.recipe["model"])
    assert any(name.endswith("dense.weight") for name in record.new_weights)
    assert not any("embeddings" in name or "layer." in name for name in record.new_weights)

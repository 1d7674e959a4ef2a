"""What is read as text, what `check` and `init` say of it, and wrong input."""

import json
import tomllib
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.corpora import PROSE, TINY_RUN, sentence

from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.runs.record_files import all_records
from finetune.task_types.own_data import own_task
from finetune.task_types.pretraining.task import TextTask


def test_documents_that_dev_has_are_found_however_they_are_divided(corpus: Path, in_process: InProcess) -> None:
    lines = [line for line in corpus.read_text().splitlines() if line]
    (corpus.parent / "flat.txt").write_text("\n".join(lines[:100]) + "\n")
    code, out, err = in_process("run", "corpus.txt", *TINY_RUN, "dev=flat.txt", data="")
    assert code == 0 and "50 documents of corpus.txt are in flat.txt too, and left out of train" in out + err, err
    (corpus.parent / "flat.txt").write_text("\n".join(lines) + "\n")
    code, _, err = in_process("run", "corpus.txt", *TINY_RUN, "dev=flat.txt", data="")
    assert code == 2
    assert_error(err, "dev=flat.txt has all documents of corpus.txt")


@pytest.mark.parametrize("text", ["😀 😀\n!!! ???\n", f"{'ไทย' * 11}\n"], ids=["no letter", "no short word"])
def test_a_dev_without_words_is_one_line_before_anything_is_trained(
    text: str, corpus: Path, in_process: InProcess
) -> None:
    (corpus.parent / "dev.txt").write_text(text)
    for command in ("run", "check"):
        code, out, err = in_process(command, "corpus.txt", *TINY_RUN, "dev=dev.txt", data="")
        assert code == 2, out
        assert_error(err, "dev.txt", "no word", "dev=FILE")
        assert not (corpus.parent / "cache" / "vocabularies").exists()
    assert not all_records(corpus.parent / "results")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("objective=mlm-nsp", "max_length=4"), ("3 special tokens leave no room", "max_length=5")),
        (("train.solver=logistic",), ("train.solver=logistic", "changes the encoder", "Leave it out")),
        (("replace=[0.8,0.1,0.2]",), ("'replace' was taken out", "Leave it out")),
        (("mask=spans",), ("'mask=spans' was taken out", "mask=words")),
        (("generator_size=0.5",), ("'generator_size' was taken out", "Leave it out")),
        (("objective=ltr", "mask=words"), ("objective=ltr masks nothing", "Leave mask out")),
    ],
    ids=str,
)
def test_settings_that_text_cannot_have(
    settings: tuple[str, ...], words: tuple[str, ...], corpus: Path, in_process: InProcess
) -> None:
    code, _, err = in_process("run", "corpus.txt", *TINY_RUN[:2], *settings, data="")
    assert code == 2
    assert_error(err, *words)


def test_a_long_line_with_commas_is_no_header(tmp_path: Path, in_process: InProcess) -> None:
    (tmp_path / "a.txt").write_text(f"{'some words, ' * 400}{'word ' * 400}\n" * 3)
    _, out, err = in_process("check", "a.txt", *TINY_RUN, data="")
    assert "3 documents" in err and "header" not in out + err, err


def test_a_pattern_names_the_files_of_one_text(corpus: Path, in_process: InProcess) -> None:
    lines = corpus.read_text().splitlines()
    folder = corpus.parent / "texts"
    folder.mkdir()
    for name, part in (("a", lines[: len(lines) // 2]), ("b", lines[len(lines) // 2 :]), (".hidden", ["no"])):
        (folder / f"{name}.txt").write_text("\n".join(part))
    (folder / "table.csv").write_text("text,label\n" + "".join(f"{sentence(n)},{n % 2}\n" for n in range(60)))
    code, out, err = in_process("run", "texts/*.txt", *TINY_RUN, data="")
    assert code == 0 and "train texts/*.txt: " in err and "document a.txt:1: " in err and ".hidden" not in err, err
    assert "texts-data-text, run " in out
    code, _, err = in_process("run", "texts/a.txt", "texts/b.txt", *TINY_RUN, data="")
    assert code == 0 and "note: 2 texts, each for an encoder" in err, err
    for pattern, words in (("texts/*.csv", "shape=text"), ("texts/*.tsv", "no file matches")):
        code, _, err = in_process("run", pattern, *TINY_RUN, data="")
        assert code == 2
        assert_error(err, pattern, words)


def test_lines_of_few_first_words_are_text_where_these_words_come_again(tmp_path: Path, in_process: InProcess) -> None:
    lines = [text for n in range(100) for text in ("the same line comes again", f"line {n} of this text")]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    _, out, err = in_process("check", "a.txt", *TINY_RUN, data="")
    assert "documents" in out and "label" not in out + err, out


def test_labelled_data_does_not_train_a_vocabulary(tmp_path: Path, in_process: InProcess) -> None:
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(f"{sentence(n)},{n % 2}\n" for n in range(60)))
    code, _, err = in_process("run", "a.csv", *TINY_RUN[:1], data="")
    assert code == 2 and "needs a vocabulary" in err and err.count("error:") == 1


def test_check_tells_what_is_in_a_text(corpus: Path, in_process: InProcess) -> None:
    code, out, err = in_process("check", "corpus.txt", *TINY_RUN, "--json", data="")
    assert code == 0, err
    found = json.loads(out)["corpus"]
    assert (found["documents"], found["lines"]) == (240, 480) and 0 < found["size"] < corpus.stat().st_size
    assert not (corpus.parent / "results").exists()
    out = in_process("check", "corpus.txt", *TINY_RUN, data="")[1]
    assert "480" in out and "0 errors" in out
    code, _, err = in_process("check", "corpus.txt", "--fix", "new.txt", data="")
    assert code == 2 and "no cells to fix" in err


def test_init_prints_a_recipe_that_runs(corpus: Path, in_process: InProcess) -> None:
    code, out, err = in_process("init", "corpus.txt", "model=new:1x32x1", data="")
    assert code == 0, err
    (corpus.parent / "my.toml").write_text(out)
    assert "240 documents" in out
    code, printed, err = in_process("check", "my.toml", data="")
    assert code == 0 and "trained on the text when it is run" in printed, err
    code, _, err = in_process("run", "my.toml", "train.updates=2", "max_length=32", data="")
    assert code == 0, err


def test_a_table_called_txt_is_read_by_its_column(tmp_path: Path) -> None:
    path = tmp_path / "ratings.txt"
    path.write_text("id\tdocument\tlabel\n" + "".join(f"{n}\t{sentence(n)}\t{n % 2}\n" for n in range(50)))
    task = own_task(str(path), {"shape": "text", "text": "document"})
    assert task.name == "ratings.txt-text"
    assert {row.text for row in task.load(source_of(None), "train").rows} <= {sentence(n) for n in range(50)}
    for options, said in (({}, "text=NAME"), ({"text": "documnt"}, "'document'")):
        with pytest.raises(UserError, match="id, document, label") as error:
            own_task(str(path), {"shape": "text", **options}).load(source_of(None), "train")
        assert said in str(error.value)


def test_what_may_be_text_without_labels_is_told_how_it_is_read(tmp_path: Path, in_process: InProcess) -> None:
    (tmp_path / "one.csv").write_text("text\n" + "".join(f"{sentence(n)}\n" for n in range(60)))
    (tmp_path / "texts").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "texts" / name).write_text("".join(f"{sentence(n)}\n" for n in range(60)))
    for data in ("one.csv", "texts"):
        code, out, err = in_process("check", data, data="")
        assert code in (1, 2) and "shape=text" in " ".join((out + err).split())
        assert in_process("check", data, "shape=text", *TINY_RUN, data="")[0] == 0


def test_the_column_that_was_found_is_told_before_a_check_and_a_run(tmp_path: Path, in_process: InProcess) -> None:
    rows = "".join(f"{'news' if n % 2 else 'film'},{sentence(n)},{n % 2}\n" for n in range(300))
    (tmp_path / "a.csv").write_text(f"kind,body,label\n{rows}")
    code, checked, err = in_process("check", "a.csv", "shape=text", *TINY_RUN, data="")
    assert code == 0 and "'body' (found; text=COLUMN names another)" in checked, err
    _, checked, _ = in_process("check", "a.csv", "shape=text", "text=kind", *TINY_RUN, data="")
    assert "'kind'" in checked and "found" not in checked
    assert "column 'body' (found" in in_process("run", "a.csv", "shape=text", *TINY_RUN, data="")[2]


def test_the_vocabulary_of_a_recipe_that_is_run_first_is_not_missing(corpus: Path, in_process: InProcess) -> None:
    (corpus.parent / "first.toml").write_text('task = "corpus.txt"\nmodel = "new:1x32x1"\n[train]\nupdates = 2\n')
    rows = "".join(f"{sentence(n)},{n % 2}\n" for n in range(60))
    (corpus.parent / "a.csv").write_text(f"text,label\n{rows}")
    code, out, err = in_process("check", "a.csv", "model=first.toml", data="")
    assert code == 0 and "checks of tokens were skipped" in " ".join(out.split()), err


def test_a_column_of_lines_is_refused(corpus: Path) -> None:
    with pytest.raises(UserError, match="without a column 'body'"):
        own_task(str(corpus), {"shape": "text", "text": "body"}).load(source_of(None), "train")


def test_names_of_texts_differ_from_those_of_labelled_tasks(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(f"{sentence(n)},{n % 2}\n" for n in range(60)))
    names = [own_task(str(path), {"shape": "text"}).name for path in (corpus, tmp_path / "a.csv")]
    assert names == ["corpus.txt", "a.csv-text"]


def test_an_empty_corpus_is_told_what_text_is(tmp_path: Path, in_process: InProcess) -> None:
    for text in ("", "\n \n\n"):
        (tmp_path / "a.txt").write_text(text)
        for command in ("run", "check"):
            code, _, err = in_process(command, "a.txt", data="")
            assert code == 2 and "header" not in err
            assert_error(err, "a.txt: is empty. Write text into it", "blank line between documents")


def test_a_short_corpus_is_run_with_a_note(tmp_path: Path, in_process: InProcess) -> None:
    (tmp_path / "a.txt").write_text("one line\nand another\n")
    code, _, err = in_process("run", "a.txt", *TINY_RUN, data="")
    assert code == 0 and "2 documents with 19 bytes of text, too little" in err


@pytest.mark.parametrize(
    "text",
    [
        "word\n" * 40 + "end\n",
        "word,\n" * 40 + "end,\n",
        "one\ntwo\nthree\n\nfour\nfive\nsix\n\n" * 20,
        "".join(f"{PROSE[n % 5]} {PROSE[n % 7]} {PROSE[n % 3]} {PROSE[n % 11]}\n" for n in range(300)),
    ],
    ids=["one word", "comma at the end", "blank lines", "few words"],
)
def test_words_on_lines_are_text_and_not_a_table(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text)
    task = own_task(str(tmp_path / "a.txt"), {})
    assert task.name == "a.txt" and isinstance(task, TextTask)
    assert task.load(source_of(None), "dev").rows


def test_a_recipe_from_scratch_has_its_own_defaults(corpus: Path, in_process: InProcess) -> None:
    code, out, err = in_process("init", "corpus.txt", "model=new:1x32x1", data="")
    assert code == 0, err
    (corpus.parent / "my.toml").write_text(out)
    train = tomllib.loads(out)["train"]
    assert (train["batch_size"], train["updates"]) == (16, 8000) and "mask_share = 0.3" in out


def test_what_dev_has_is_left_out_of_train(corpus: Path, in_process: InProcess) -> None:
    code, _, err = in_process("run", "corpus.txt", *TINY_RUN, "dev=corpus.txt", data="")
    assert code == 2
    assert_error(err, "dev=corpus.txt has all documents of corpus.txt")
    (corpus.parent / "dev.txt").write_text("".join(f"{sentence(n)}\n{sentence(n + 1000)}\n\n" for n in range(230, 260)))
    code, out, err = in_process("run", "corpus.txt", *TINY_RUN, "dev=dev.txt", data="")
    assert code == 0 and "10 documents of corpus.txt are in dev.txt too, and left out of train" in out + err, err
    (record,) = all_records(corpus.parent / "results")
    assert record.rows == {"train": 230, "dev": 30}
    assert not any("optimistic" in note for note in record.notes)

"""What is within a line, or no line of its own: carriage returns, blank tokens, comments, pointers."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.own_data import own_task

from finetune.data.reading import read_table
from finetune.data.source import Source
from finetune.errors import UserError

ROWS = [
    (f"a fine\rday number {n}" if n % 3 == 1 else f"a bad day, number {n}", ["good", "bad"][n % 2]) for n in range(30)
]


def loaded(path: Path, **settings: str) -> Any:
    task = own_task(path, settings)
    return [task.load(Source(), split) for split in ("train", "dev")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("quote", ['"', ""])
def test_a_carriage_return_is_part_of_a_cell_where_line_feeds_end_the_lines(
    end: str, quote: str, tmp_path: Path
) -> None:
    cells = [(f"{quote}{text}{quote}", label) for text, label in [("text", "label"), *ROWS]]
    sign = "," if quote else "\t"
    (tmp_path / "data.csv").write_bytes("".join(sign.join(row) + end for row in cells).encode())
    table = read_table(tmp_path / "data.csv")
    assert not table.faults
    assert list(zip(table.columns["text"], table.columns["label"], strict=True)) == ROWS


def test_carriage_returns_alone_still_end_lines(tmp_path: Path) -> None:
    rows = [(text.replace("\r", " ").replace(",", ""), label) for text, label in ROWS]
    (tmp_path / "data.csv").write_bytes("\r".join(map(",".join, [("text", "label"), *rows])).encode() + b"\r")
    table = read_table(tmp_path / "data.csv")
    assert list(zip(table.columns["text"], table.columns["label"], strict=True)) == rows


def test_a_carriage_return_ends_no_line_of_labelled_lines_or_json(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_bytes("".join(f"__label__{label} {text}\n" for text, label in ROWS).encode())
    assert len(read_table(tmp_path / "data.txt")) == len(ROWS)
    lines = [json.dumps({"text": text, "label": label}) for text, label in ROWS]
    (tmp_path / "data.jsonl").write_bytes(
        "".join(f"{line[:-1]}\r}}\n" if "fine" in line else f"{line}\n" for line in lines).encode()
    )
    assert len(read_table(tmp_path / "data.jsonl")) == len(ROWS)


def tagged(blank: str, tag: str, sign: str) -> str:
    sentence = [("Ann", "B-PER"), ("Lee", "I-PER"), (blank, tag), ("sings", "O")]
    return "".join("".join(f"{w}{n if w == 'sings' else ''}{sign}{t}\n" for w, t in sentence) + "\n" for n in range(20))


@pytest.mark.parametrize(("blank", "sign"), [(" ", " "), ("\t", " "), ("", "\t"), (" ", "\t"), ("\u00a0", "\t")])
def test_a_blank_token_with_the_tag_o_is_left_out_and_counted(blank: str, sign: str, tmp_path: Path) -> None:
    (tmp_path / "train.conll").write_text(tagged(blank, "O", sign))
    train, dev = loaded(tmp_path / "train.conll")
    assert {row.words[:2] for row in (*train.rows, *dev.rows)} == {("Ann", "Lee")}
    assert {row.gold for row in (*train.rows, *dev.rows)} == {("B-PER", "I-PER", "O")}
    assert any("blank tokens with the tag O: left out (rows 1, 2, 3 and 17 more" in note for note in train.notes)


def test_a_blank_token_is_found_in_columns_with_names_and_further_ones(tmp_path: Path) -> None:
    sentence = "Ann N B-PER\nLee N I-PER\n  X O\nsings V{} O\n\n"
    (tmp_path / "train.conll").write_text("token pos ner\n\n" + "".join(sentence.format(n % 3) for n in range(20)))
    train, _ = loaded(tmp_path / "train.conll", label="ner")
    assert {(row.words, row.gold) for row in train.rows} == {(("Ann", "Lee", "sings"), ("B-PER", "I-PER", "O"))}


def test_a_file_whose_sentences_all_have_a_fault_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "train.conll").write_text(tagged(" ", "B-PER", " "))
    with pytest.raises(UserError, match=r"train\.conll:3: none of its 20 sentences can be read: expected 2 columns"):
        own_task(tmp_path / "train.conll")


def test_an_i_alone_continues_the_entity(tmp_path: Path) -> None:
    text = "Ann B_PS\nLee I\nsings{} O\nin O\nSan B_LC\nJose I\n\n"
    (tmp_path / "train.conll").write_text("".join(text.format(n) for n in range(20)))
    train, _ = loaded(tmp_path / "train.conll")
    assert train.rows[0].gold == ("B-PS", "I-PS", "O", "O", "B-LC", "I-LC")
    task: Any = own_task(tmp_path / "train.conll")
    assert task.types == ("LC", "PS")


def test_an_i_alone_after_no_entity_is_a_fault(tmp_path: Path) -> None:
    text = "Ann B_PS\nLee I\nsings{} O\nnow O\n\n"
    wrong = "Bob B_PS\nsings O\nLee I\nnow O\n\n"
    (tmp_path / "train.conll").write_text("".join(text.format(n) for n in range(20)) + wrong)
    train, _ = loaded(tmp_path / "train.conll")
    assert any("1 row that cannot be used" in note for note in train.notes)


def test_a_word_that_begins_like_a_comment_is_a_word(tmp_path: Path) -> None:
    (tmp_path / "train.conll").write_text("".join(f"$\tO\n5{n}\tO\nAnn\tB-PER\n\n" for n in range(20)))
    train, _ = loaded(tmp_path / "train.conll")
    assert {row.words[0] for row in train.rows} == {"$"}


@pytest.mark.parametrize("name", ["train.jsonl", "train.csv", "train.parquet"])
def test_a_pointer_of_git_lfs_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n")
    with pytest.raises(UserError, match=r"is a pointer of git-lfs.*`git lfs pull`"):
        own_task(tmp_path / name)

"""Documents of files of text: formats, encodings, faults, the fingerprint and the dev split."""

import gzip
import json
import lzma
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finetune.data import documents as documents_module
from finetune.data.documents import Documents, read_documents, split_documents
from finetune.errors import UserError

POEM = [("The cat sat.", "It was old."), ("A dog ran.",), ("...",), ("Ein Vogel, schön.", "두 줄", "3")]
TEXT = "\n\n".join("\n".join(lines) for lines in POEM) + "\n"


def lines_of(path: Path, **options: str) -> list[tuple[str, ...]]:
    return [document.lines for document in read_documents(path, **options)]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def as_table(path: Path) -> Path:
    texts = ["\n".join(lines) for lines in POEM] + ["", None]
    numbers = list(range(len(texts)))
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"n": numbers, "body": texts}), path)
    elif path.suffix == ".jsonl":
        rows = (json.dumps({"n": n, "body": text}) for n, text in zip(numbers, texts, strict=True))
        write(path, "\n".join(rows))
    else:
        sign = "," if path.suffix == ".csv" else "\t"
        rows = (f'{n}{sign}"{text or ""}"' for n, text in zip(numbers, texts, strict=True))
        write(path, f"n{sign}body\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("\n", "\r"),
        "\n \t\n\f\n" + TEXT.replace("\n\n", "\n \t \f\n\n"),
        TEXT.rstrip("\n"),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.encode("utf-16"),
    ],
)
def test_blank_lines_separate_documents(tmp_path: Path, content: str | bytes) -> None:
    assert lines_of(write(tmp_path / "a.txt", content)) == POEM


@pytest.mark.parametrize("content", ["a b\nc\nd\n", "\n\na b\nc\nd\n\n \n", "a b\r\nc\r\nd"])
def test_without_blank_lines_between_them_each_line_is_a_document(tmp_path: Path, content: str) -> None:
    assert lines_of(write(tmp_path / "a.txt", content)) == [("a b",), ("c",), ("d",)]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_a_column_of_texts(tmp_path: Path, suffix: str) -> None:
    path = as_table(tmp_path / f"a{suffix}")
    assert lines_of(path) == lines_of(path, column="body") == POEM
    assert read_documents(path).fingerprint == read_documents(write(tmp_path / "b.txt", TEXT)).fingerprint


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", partial(lzma.compress, preset=0))])
def test_compressed_and_cut(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    packed = write(tmp_path / f"a.txt{suffix}", pack(TEXT.encode()))
    assert lines_of(packed) == POEM
    table = write(tmp_path / f"a.jsonl{suffix}", pack(as_table(tmp_path / "a.jsonl").read_bytes()))
    assert lines_of(table) == POEM
    noise = random.Random(0).randbytes(1 << 21).hex(" ", 8).replace("0 ", "0\n").encode()
    cut = write(tmp_path / f"cut.txt{suffix}", pack(noise)[:-100])
    with pytest.raises(UserError, match=r"cut.txt.*cannot be read"):
        lines_of(cut)


def test_ids_name_the_file_where_there_are_several(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("b.txt", "in/a.txt", ".hidden/c.txt", "README.txt", "picture.png"):
        write(tmp_path / name, TEXT if name == "b.txt" else "a\nb\n")
    as_table(tmp_path / "c.csv")
    found = list(read_documents(tmp_path))
    assert [document.id for document in found if document.lines == POEM[1]] == ["b.txt:2", "c.csv:2"]
    assert [document.text for document in found if document.id.startswith("in/a.txt")] == ["a\nb"]  # as b.txt has
    assert [document.id for document in read_documents(tmp_path / "b.txt")] == ["1", "2", "3", "4"]


def test_a_legacy_encoding_is_detected_at_the_start_or_given(tmp_path: Path) -> None:
    korean = "우리는 오늘 학교에 갔습니다.\n날씨가 아주 좋았고 친구들을 만났습니다.\n\n그래서 기분이 좋았습니다.\n" * 40
    path = write(tmp_path / "a.txt", korean.encode("cp949"))
    assert len(lines_of(path)) == 41
    assert lines_of(path)[0] == lines_of(path, encoding="cp949")[0] == tuple(korean.split("\n")[:2])


def test_the_place_of_bytes_of_another_encoding(tmp_path: Path) -> None:
    korean = "친구와 학교에 갔다\n" * (1 << 16)  # more than the start that is looked at
    path = write(tmp_path / "a.txt", korean.encode() + "친구\n".encode("cp949"))
    with pytest.raises(UserError, match=rf"a.txt:{(1 << 16) + 1}: .*UTF-8.*encoding=NAME"):
        lines_of(path)
    write(path, b"a line of words\n" * (1 << 17) + "친구\n".encode("cp949"))
    assert lines_of(path, encoding="cp949")[-1] == ("친구",)


def test_lines_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents_module, "LONGEST_LINE", 1 << 10)
    with pytest.raises(UserError, match=r"a.txt: a line of document 2"):
        lines_of(write(tmp_path / "a.txt", "a\n" + "b" * 1025))
    with pytest.raises(UserError, match=r"a.csv: a line of document 1"):
        lines_of(write(tmp_path / "a.csv", "n,text\n1," + "b c " * 1025))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "is empty"),
        ("a.txt", b" \n\n\t\n", "is empty"),
        ("a.txt", random.Random(0).randbytes(4096), "binary|no known encoding"),
        ("a.txt", b"PK\x03\x04" + bytes(90), "zip"),
        ("a.txt.gz", b"\x1f\x8b broken", "cannot be read"),
        ("a.json", b"[1, 2]", "not a JSON object"),
        ("a.csv", b"n,text\n1,\n2,\n", "no text"),
        ("a.csv", b"a,b\n1,2\n3,4\n5,6\n", "no column of texts .among a, b."),
        (
            "a.csv",
            b"title,body\n"
            + b"".join(b"a title %d of words,the body of %d has more words\n" % (n, n) for n in range(9)),
            "several columns of texts .title, body.*text=title",
        ),
        ("a.jsonl", b'{"text": "a b"}\n{"text": "c\n', "a.jsonl:2: is not JSON"),
        ("a.jsonl", b'{"text": "a"}\n{"text": {"b": 1}}\n', "a.jsonl:2: .*object"),
        ("a.jsonl", b'{"text": "a"}\n{"text": "\\ud800"}\n', "a.jsonl:2: "),
        ("a.parquet", b"PAR1 broken", "not a valid Parquet"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        lines_of(write(tmp_path / name, content))


def test_wrong_columns_folders_and_names(tmp_path: Path) -> None:
    path = as_table(tmp_path / "a.csv")
    with pytest.raises(UserError, match=r"no column 'bod' .*Did you mean 'body'"):
        lines_of(path, column="bod")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no file of text"):
        lines_of(tmp_path / "empty")
    with pytest.raises(UserError, match="cannot be read"):
        lines_of(tmp_path / "none.txt")
    with pytest.raises(UserError, match="no file"):
        list(read_documents([]))


def test_some_documents_have_a_fingerprint_of_their_own(tmp_path: Path) -> None:
    documents = read_documents(write(tmp_path / "a.txt", TEXT))
    some = documents.choose(np.array([1, 3]))
    assert [document.id for document in some] == ["2", "4"]
    assert some.choose(np.array([1]))[0].lines == POEM[3]
    assert some.hashes.tolist() == documents.hashes[[1, 3]].tolist()
    assert some.choose(np.array([0])).fingerprint == documents.choose(np.array([1])).fingerprint
    assert len({documents.fingerprint, some.fingerprint, documents.choose(np.array([1])).fingerprint}) == 3


def corpus(path: Path, texts: list[str]) -> Documents:
    return read_documents(write(path, "\n".join(texts) + "\n"))


@pytest.mark.parametrize(("count", "dev"), [(2, 1), (5, 2), (150, 75), (1_000, 100), (12_000, 120)])
def test_size_of_dev(tmp_path: Path, count: int, dev: int) -> None:
    documents = corpus(tmp_path / "a.txt", [f"text {number}" for number in range(count)])
    train, chosen = split_documents(documents)
    assert (len(train), len(chosen)) == (count - dev, dev)
    both = {document.id for document in [*train, *chosen]}
    assert len(both) == count


def test_a_longer_corpus_keeps_dev(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(24_000)]
    short, long = (
        {document.text for document in split_documents(corpus(tmp_path / f"{count}.txt", texts[:count]))[1]}
        for count in (12_000, 24_000)
    )
    assert len(short & long) >= 0.8 * len(short)


def test_equal_texts_are_on_one_side_and_count_once(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(300)] * 2
    train, dev = split_documents(corpus(tmp_path / "a.txt", texts))
    assert len(dev) == 200
    assert not {document.text for document in train} & {document.text for document in dev}


@pytest.mark.parametrize("texts", [["one"], ["same"] * 9])
def test_one_text_cannot_be_split(tmp_path: Path, texts: list[str]) -> None:
    with pytest.raises(UserError, match=r"one document|the same text"):
        split_documents(corpus(tmp_path / "a.txt", texts))

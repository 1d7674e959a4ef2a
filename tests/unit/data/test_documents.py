"""Documents of files of text: formats, encodings, faults, the fingerprint and the dev split."""

import gzip
import json
import lzma
import random
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finetune.data import documents as documents_module
from finetune.data.documents import Documents, read_documents, split_documents
from finetune.errors import UserError

POEM = [("The cat sat.", "It was old."), ("A dog ran.",), ("...",), ("Ein Vogel, schön.", "두 줄", "3")]
TEXT = "\n\n".join("\n".join(lines) for lines in POEM) + "\n"
LINES = [("a b",), ("c",), ("d",)]
KOREAN = "우리는 오늘 학교에 갔습니다.\n날씨가 아주 좋았고 친구들을 만났습니다.\n\n그래서 기분이 좋았습니다.\n" * 40


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
        write(path, "\n".join(json.dumps({"n": n, "body": text}) for n, text in enumerate(texts)))
    else:
        sign = "," if path.suffix == ".csv" else "\t"
        write(path, f"n{sign}body\n" + "".join(f'{n}{sign}"{text or ""}"\n' for n, text in enumerate(texts)))
    return path


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        *[(TEXT.replace("\n", end), POEM) for end in ("\n", "\r\n", "\r")],
        ("\n \t\n\f\n" + TEXT.replace("\n\n", "\n \t \f\n\n"), POEM),
        (TEXT.rstrip("\n"), POEM),
        (b"\xef\xbb\xbf" + TEXT.encode(), POEM),
        (TEXT.encode("utf-16"), POEM),
        # Without blank lines between them each line is a document.
        *[(text, LINES) for text in ("a b\nc\nd\n", "\n\na b\nc\nd\n\n \n", "a b\r\nc\r\nd")],
    ],
)
def test_blank_lines_separate_documents(content: str | bytes, expected: list[tuple[str, ...]], tmp_path: Path) -> None:
    assert lines_of(write(tmp_path / "a.txt", content)) == expected


def test_a_column_of_texts_and_compressed_files_have_the_same_documents(tmp_path: Path) -> None:
    plain = write(tmp_path / "b.txt", TEXT)
    for suffix in (".csv", ".tsv", ".jsonl", ".parquet"):
        path = as_table(tmp_path / f"a{suffix}")
        assert lines_of(path) == lines_of(path, column="body") == POEM
        assert read_documents(path).fingerprint == read_documents(plain).fingerprint
    noise = random.Random(0).randbytes(1 << 21).hex(" ", 8).replace("0 ", "0\n").encode()
    for suffix, pack in ((".gz", gzip.compress), (".xz", partial(lzma.compress, preset=0))):
        for name in ("b.txt", "a.jsonl"):
            assert lines_of(write(tmp_path / f"{name}{suffix}", pack((tmp_path / name).read_bytes()))) == POEM
        with pytest.raises(UserError, match=r"cut.txt.*cannot be read"):
            lines_of(write(tmp_path / f"cut.txt{suffix}", pack(noise)[:-100]))


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
    path = write(tmp_path / "a.txt", KOREAN.encode("cp949"))
    assert len(lines_of(path)) == 41
    assert lines_of(path)[0] == lines_of(path, encoding="cp949")[0] == tuple(KOREAN.split("\n")[:2])
    write(path, ("친구와 학교에 갔다\n" * (1 << 16)).encode() + "친구\n".encode("cp949"))  # beyond the start
    with pytest.raises(UserError, match=rf"a.txt:{(1 << 16) + 1}: .*UTF-8.*encoding=NAME"):
        lines_of(path)
    write(path, b"a line of words\n" * (1 << 17) + "친구\n".encode("cp949"))
    assert lines_of(path, encoding="cp949")[-1] == ("친구",)


TWO = b"title,body\n" + b"".join(b"a title %d of words,the body of %d has more words\n" % (n, n) for n in range(9))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        *[("a.txt", content, "is empty") for content in (b"", b" \n\n\t\n")],
        ("a.txt", random.Random(0).randbytes(4096), "binary|no known encoding"),
        ("a.txt", b"PK\x03\x04" + bytes(90), "zip"),
        ("a.txt", b"a\n" + b"b" * 1025, r"a.txt: a line of document 2"),
        ("a.json", b"[1, 2]", "not a JSON object"),
        ("a.csv", b"a,b\n1,2\n3,4\n5,6\n", "no column of texts .among a, b."),
        ("a.csv", TWO, "several columns of texts .title, body.*text=title"),
        ("a.jsonl", b'{"text": "a b"}\n{"text": "c\n', "a.jsonl:2: is not JSON"),
        ("a.jsonl", b'{"text": "a"}\n{"text": "\\ud800"}\n', "a.jsonl:2: "),
        ("a.parquet", b"PAR1 broken", "not a valid Parquet"),
    ],
)
def test_what_cannot_be_read(
    name: str, content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents_module, "LONGEST_LINE", 1 << 10)
    if len(content) > 4_000 and name == "a.txt":
        monkeypatch.undo()
    with pytest.raises(UserError, match=message):
        lines_of(write(tmp_path / name, content))


def corpus(path: Path, texts: list[str]) -> Documents:
    return read_documents(write(path, "\n".join(texts) + "\n"))


@pytest.mark.parametrize(("count", "dev"), [(2, 1), (5, 2), (150, 75), (1_000, 100), (12_000, 120)])
def test_dev_is_chosen_by_texts_and_stays_where_there_are_more(count: int, dev: int, tmp_path: Path) -> None:
    train, chosen = split_documents(corpus(tmp_path / "a.txt", [f"text {number}" for number in range(count)]))
    assert (len(train), len(chosen)) == (count - dev, dev)
    assert len({document.id for document in [*train, *chosen]}) == count
    if count == 12_000:
        longer = split_documents(corpus(tmp_path / "b.txt", [f"text {number}" for number in range(2 * count)]))[1]
        assert len({one.text for one in chosen} & {one.text for one in longer}) >= 0.8 * dev


def test_equal_texts_are_on_one_side_and_count_once(tmp_path: Path) -> None:
    train, dev = split_documents(corpus(tmp_path / "a.txt", [f"text {number}" for number in range(300)] * 2))
    assert len(dev) == 200
    assert not {document.text for document in train} & {document.text for document in dev}
    for texts in (["one"], ["same"] * 9):
        with pytest.raises(UserError, match=r"one document|the same text"):
            split_documents(corpus(tmp_path / "a.txt", texts))

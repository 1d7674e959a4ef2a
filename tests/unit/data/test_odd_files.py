"""No file whatever ends in a traceback or hangs."""

import gzip
import io
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.files import as_csv, cells, write
from support.fuzzed_files import assert_checked_or_refused, fuzz_data_files
from support.fuzzing import DAMAGES

from finetune.commands.check import findings as checking
from finetune.data.detect import BY_SUFFIX, detect
from finetune.data.file_format import OutputFormat
from finetune.data.reading import read_table
from finetune.data.writing import write_rows
from finetune.inference.predictor import Predictor

WORDS = st.sampled_from(["the cat sat", "a dog ran here", "영화가 좋다", "the cat sat on it", "a dog", "no cat at all"])


def test_a_quoted_empty_cell_is_a_row_of_a_single_column_and_an_empty_line_is_none(tmp_path: Path) -> None:
    assert cells(read_table(write(tmp_path / "one.csv", 'text\na cat\n""\n\na dog\n'))) == [["a cat"], [""], ["a dog"]]


CELL = (
    WORDS
    | st.text(max_size=12)
    | st.sampled_from(
        ["", " ", "=1+1", "\r", "\ud800", "x\udfffy", '"', '""', "a,b", "\0", "\u202e", "가", "é", "1", "O", "B-X"]
    )
)


BYTES = st.binary(max_size=400)


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


NAME = st.sampled_from(["text", "label", "tags", "words", "question", "context", "id", "choice1", "choice2", " x "])


SHAPES = [
    ["text", "label"],
    ["words", "tags"],
    ["question", "context", "answers"],
    ["q", "choice1", "choice2", "label"],
]


BINARY = [suffix for suffix, form in BY_SUFFIX.items() if not form.text]
NAMES = st.sampled_from(SHAPES) | st.lists(NAME, min_size=1, max_size=5)


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, bytes]:
    """(suffix, content) of a whole file that is not text, or of one with a byte changed or its end lost."""
    names = draw(st.sampled_from(SHAPES) | st.lists(NAME, min_size=1, max_size=4, unique=True))
    count = draw(st.integers(0, 9))
    kinds = [
        WORDS,
        st.text(max_size=8),
        st.integers(-9, 9),
        st.floats(),
        st.booleans(),
        st.lists(st.text(max_size=4), max_size=3),
    ]
    columns = {
        name: draw(st.lists(st.none() | draw(st.sampled_from(kinds)), min_size=count, max_size=count)) for name in names
    }
    file = io.BytesIO()
    suffix = draw(st.sampled_from(BINARY))
    rows = [dict(zip(names, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    BY_SUFFIX[suffix].write(file, rows, OutputFormat(suffix=suffix, names=names))
    content = bytearray(file.getvalue())
    place = int(draw(st.floats(0, 1, exclude_max=True)) * len(content))  # Excel holds the time, so its size varies
    harm = draw(st.sampled_from(["none", "byte", "end"]))
    if harm == "byte":
        content[place] ^= 0xFF
    elif harm == "end":
        del content[place:]
    return suffix, bytes(content)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    """(suffix, content) of a file that someone might have, whole or broken, gzipped or not."""
    suffix, content = draw(st.one_of(texts(), texts(), texts(), tables()))
    if draw(st.sampled_from([False] * 9 + [True])):
        return f"{suffix}.gz", gzip.compress(content, mtime=0)
    return suffix, content


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, bytes]:
    """(suffix, content) of a file of text, or of any bytes."""
    kind = draw(st.sampled_from(["csv", "tsv", "txt", "jsonl", "json", "conll", "bytes"]))
    if kind == "bytes":
        return draw(st.sampled_from([".csv", ".txt", ".json", ".gz", *BINARY])), draw(BYTES)
    names = draw(NAMES)
    if kind in ("json", "jsonl"):
        whole = st.fixed_dictionaries(dict.fromkeys(names, WORDS | VALUE))
        odd = st.dictionaries(st.sampled_from([*names, "x"]), VALUE, max_size=4) | VALUE
        rows = draw(st.lists(whole | whole | odd, max_size=9))
        text = json.dumps(rows) if kind == "json" else "\n".join(map(json.dumps, rows))
        return f".{kind}", text.encode("utf-8", "surrogatepass")
    whole_row = st.lists(CELL, min_size=len(names), max_size=len(names))
    cells = draw(st.lists(whole_row | whole_row | st.lists(CELL, max_size=6), max_size=9))
    if kind == "conll":
        return ".conll", "\n".join(" ".join(row) for row in cells).encode("utf-8", "surrogatepass")
    quoted = draw(st.booleans())
    body = [names, *cells]
    between = {"csv": ",", "tsv": "\t", "txt": draw(st.sampled_from(";|,\t"))}[kind]
    text = as_csv(body, between) if quoted else "\n".join(between.join(row) for row in body)
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp949", "latin-1"]))
    return f".{kind}", text.encode(encoding, "replace" if encoding in ("cp949", "latin-1") else "surrogatepass")


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")) | st.sampled_from(
    ["\r", "a\rb", "\r\n"]
)


FUZZ: dict[str, Any] = {
    "deadline": 5_000,
    "suppress_health_check": [HealthCheck.function_scoped_fixture],
    "derandomize": True,
}


@pytest.fixture
def one_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the tokenizer from being loaded for each file."""
    monkeypatch.setattr(checking, "load_fast_tokenizer", lru_cache(maxsize=1)(checking.load_fast_tokenizer))


@pytest.mark.slow
@settings(max_examples=60, **FUZZ)
@given(content=files())
@example(content=(".jsonl", b'{"text": {"\\n": null}}'))
@example(content=(".jsonl", b'{"0\\n0": null}'))
@example(content=(".jsonl", b'{"text": "the cat sat"}\n{"0\\n0": null}'))
@example(content=(".jsonl", b'{"text": null, "label": "the cat sat"}\n{"0\\n0": false}'))
def test_no_file_ends_in_a_traceback(
    tmp_path: Path, tiny_bert: Path, one_tokenizer: None, content: tuple[str, bytes]
) -> None:
    assert_checked_or_refused(write(tmp_path / f"fuzzed{content[0]}", content[1]), tiny_bert)


LABELLED = st.lists(st.tuples(TEXT, st.sampled_from("ab")), min_size=3, max_size=20)


@settings(max_examples=60, **FUZZ)
@given(rows=LABELLED)
def test_what_was_written_as_csv_is_read_as_it_was(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    assert_read_as_written(tmp_path / "round.csv", rows)


def assert_read_as_written(path: Path, rows: list[tuple[str, str]]) -> None:
    """A CSV file that is written with these texts and labels has them when it is read."""
    written = [[f"t {text}", label] for text, label in rows]
    write_rows(path, [{"text": text, "label": label} for text, label in written], ["text", "label"])
    if detect(path).layout.quoted:  # else no cell needed quotes
        assert cells(read_table(path)) == written


@pytest.mark.slow
def test_damaged_files_of_every_format_end_in_one_line(
    tmp_path: Path, tiny_bert: Path, reviewer: Predictor, one_tokenizer: None
) -> None:
    found = fuzz_data_files(80, seed=0, folder=tmp_path, model=tiny_bert, predictor=reviewer)
    assert (found.tried, found.survived) == (80, 80)
    assert min(found.refused, found.accepted) > 10
    assert len(found.kinds) == len(DAMAGES)

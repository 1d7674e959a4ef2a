"""Forms of other tools are read, or refused by name with how to convert them; no other task is trained."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.own_data import own_task

ADJECTIVES = {"bad": ("dirty", "awful", "stale"), "good": ("lovely", "great", "kind")}
ROWS = [
    (f"The {noun} was {word} on day {day}.", label)
    for day in range(4)
    for noun in ("soup", "room", "view")
    for label, words in ADJECTIVES.items()
    for word in words
]
NAMES = ["Ann Lee", "Bo Kim", "Eva Novak"]


def rows_of(path: Path, **settings: str) -> list[Any]:
    task = own_task(str(path), settings)
    found = [row for split in ("train", "dev") for row in task.load(Source(), split).rows]
    return sorted(found, key=lambda row: int(row.id) if row.id.isdigit() else row.id)


def put(path: Path, content: Any) -> Path:
    lines = path.suffix == ".jsonl"
    text = "\n".join(map(json.dumps, content)) if lines else json.dumps(content)
    path.write_text(content if isinstance(content, str) else text)
    return path


def refused(path: Path) -> str:
    with pytest.raises(UserError) as error:
        own_task(str(path), {})
    return str(error.value)


def converted(path: Path) -> tuple[str, Path]:
    """The message about a file, and the file that its command writes."""
    said = refused(path)
    match = re.search(r"(?:\(printf|python -c|awk) .*> (rows\.\w+)", said)
    assert match, said
    command = match[0].replace("python -c", f"{sys.executable} -c")
    subprocess.run(command, shell=True, check=True, cwd=path.parent)
    return said, path.parent / match[1]


def texts(rows: list[Any]) -> list[tuple[str, Any]]:
    return [(row.text, row.gold) for row in rows]


def test_tables_in_json_are_read_or_refused(tmp_path: Path) -> None:
    split = {"columns": ["text", "label"], "index": [*range(len(ROWS))], "data": [list(row) for row in ROWS]}
    assert texts(rows_of(put(tmp_path / "data.json", split))) == ROWS
    index = {str(n): {"text": text, "label": label} for n, (text, label) in enumerate(ROWS)}
    columns = {name: {str(n): row[place] for n, row in enumerate(ROWS)} for place, name in enumerate(("text", "label"))}
    rasa = {"rasa_nlu_data": {"common_examples": [{"text": "a", "intent": "b", "entities": []}]}}
    server = {
        "features": [{"name": "text"}],
        "rows": [{"row_idx": n, "row": {"text": t}} for n, (t, _) in enumerate(ROWS)],
    }
    for content in (index, columns, rasa, server):
        assert "without a list of rows" in refused(put(tmp_path / "data.json", content))


def test_splits_in_json_are_no_rows(tmp_path: Path) -> None:
    columns = {"text": [text for text, _ in ROWS], "label": [label for _, label in ROWS]}
    with pytest.raises(UserError, match="without a list of rows"):
        own_task(str(put(tmp_path / "data.json", {"train": columns, "test": columns})), {})


def test_spans_that_count_tokens_are_refused(tmp_path: Path) -> None:
    gliner = [{"tokenized_text": ["Ann", "lives", "in", "Rome"], "ner": [[0, 0, "PER"]]}] * 9
    assert "GLiNER, whose spans count tokens" in refused(put(tmp_path / "data.json", gliner))
    places = {"subj_start": 0, "subj_end": 1, "obj_start": 3, "obj_end": 4}
    tacred = [{"id": f"e{n}", "relation": "left", "token": ["Ann", "left"], **places} for n in range(9)]
    assert "TACRED's columns, whose spans count tokens" in refused(put(tmp_path / "data.json", tacred))


def test_queries_with_passages_in_columns(tmp_path: Path) -> None:
    rows = [
        {"query": f"where is {name}, {n}", "positive": [f"{name} is in {n}"], "negative": [f"no {n}", f"not {n}"]}
        for n, name in enumerate(NAMES * 4)
    ]
    said = refused(put(tmp_path / "data.jsonl", rows))
    assert "queries with passages in columns (query, positive, negative)" in said
    assert "a row for each passage: query, passage, relevance" in said


@pytest.mark.parametrize(("who", "what"), [("role", "content"), ("from", "value")])
def test_messages_of_chats(who: str, what: str, tmp_path: Path) -> None:
    rows = [{"messages": [{who: "user", what: text}, {who: "assistant", what: label}]} for text, label in ROWS]
    said = refused(put(tmp_path / "data.jsonl", rows))
    assert "messages of chats (the column 'messages')" in said


@pytest.mark.parametrize("kind", ["types", "type"])
def test_entities_by_their_words(kind: str, tmp_path: Path) -> None:
    rows = [
        {
            "text": f"{name} lives in Rome",
            "entities": [{"entity": name, kind: ["PER"] if kind == "types" else "PER"}],
            "source": ["web", "app"][n % 2],
        }
        for n, name in enumerate(NAMES * 10)
    ]
    said = refused(put(tmp_path / "data.json", rows))
    assert "the column 'entities' holds objects, not labels or entities with their places" in said


@pytest.mark.parametrize("cells", [[{"who": "Ann", "why": "no"}], {"PER": ["Ann"], "LOC": ["Rome"]}])
def test_other_objects_never_become_classes(cells: Any, tmp_path: Path) -> None:
    rows = [{"text": text, "entities": cells, "source": label} for text, label in ROWS]
    data = put(tmp_path / "data.jsonl", rows)
    with pytest.raises(UserError, match="the column 'entities' holds objects, not labels"):
        own_task(str(data), {})
    assert rows_of(data, label="source")[0].gold == ROWS[0][1]


BLOCKS: dict[str, tuple[str, Callable[[str, str, int], str], Callable[[str, str], tuple[str, Any]]]] = {
    "three lines": (
        "three lines each", lambda text, label, _: f"{text.replace('The ', 'The $T$ of the ')}\nowner\n{label}\n",
        lambda text, label: (text.replace("The ", "The owner of the "), label),
    ),
    "SemEval": (
        "SemEval-2010", lambda text, label, n: f'{n}\t"<e1>One</e1> and <e2>two</e2> {text}"\n{label}\nComment: x\n\n',
        lambda text, label: (f"<e1>One</e1> and <e2>two</e2> {text}", label),
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", BLOCKS)
def test_blocks_of_lines_with_a_label(form: str, tmp_path: Path) -> None:
    name, written, expected = BLOCKS[form]
    blocks = (written(text, label, number) for number, (text, label) in enumerate(ROWS, start=1))
    said, file = converted(put(tmp_path / "data.txt", "".join(blocks)))
    assert name in said
    settings = {"text": "text"} if form == "SemEval" else {"text": "text,term"}
    assert texts(rows_of(file, **settings)) == [expected(*row) for row in ROWS]


MARKS = {
    "<PER>{}</PER> lives in <LOC>Rome</LOC> .": "LOC, PER",
    "[PER {}] lives in [LOC Rome] .": "LOC, PER",
    "[{}](PER) lives in [Rome](LOC) .": "LOC, PER",
}


@pytest.mark.parametrize("line", MARKS)
def test_entities_that_are_marked_in_lines(line: str, tmp_path: Path) -> None:
    said, file = converted(put(tmp_path / "data.txt", "\n".join(line.format(name) for name in NAMES * 10)))
    assert f"entities marked in it ({MARKS[line]})" in said
    assert rows_of(file)[0].gold == ("B-PER", "I-PER", "O", "O", "B-LOC", "O")


def test_tags_after_words_in_lines(tmp_path: Path) -> None:
    lines = (f"{name.replace(' ', '/B-PER ')}/I-PER lives/O here/O" + " too/O" * n for n, name in enumerate(NAMES * 9))
    said, file = converted(put(tmp_path / "data.txt", "\n".join(lines)))
    assert "a tag after each word" in said
    assert rows_of(file)[0].gold == ("B-PER", "I-PER", "O", "O")


def test_any_block_with_a_label_is_no_text_to_pretrain_on(tmp_path: Path) -> None:
    data = put(tmp_path / "data.txt", "".join(f"{label}\n{text}\n" for text, label in ROWS))
    with pytest.raises(UserError, match="blocks of 2, of which one is a label"):
        own_task(str(data), {})
    assert own_task(str(data), {"shape": "text"}).name


@pytest.mark.parametrize(
    "lines",
    [
        ["<p>A paragraph of a page</p> and <b>more</b> of it"],
        ["{}th of the lines", "in a poem of {} words", "with {} of them in a line"],
        ["She lives in [Rome](https://example.org/rome) now"],
    ],
)
def test_other_texts_are_texts(lines: list[str], tmp_path: Path) -> None:
    data = put(tmp_path / "data.txt", "\n".join(f"{line.format(n)} {n}" for n in range(40) for line in lines))
    assert type(own_task(str(data), {})).__name__ == "TextTask"


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_lines_without_a_label_among_fasttexts_are_rows_without_one(share: float, tmp_path: Path) -> None:
    lines = [
        f"__label__{label} {text}" if n % 10 < 10 * share else text for n, (text, label) in enumerate([*ROWS, *ROWS])
    ]
    task = own_task(str(put(tmp_path / "data.txt", "\n".join(lines))), {})
    plain = sum("__label__" not in line for line in lines)
    loaded = [task.load(Source(), split) for split in ("train", "dev")]
    assert sum(len(rows.rows) for rows in loaded) == len(lines) - plain
    assert f"{plain} rows without a label" in " ".join(loaded[0].notes)
    assert not any("__label__" in row.text for rows in loaded for row in rows.rows)

"""Forms of other tools are read, or refused by name with how to convert them; no other task is trained."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.own_data import own_task, rows_of

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types import own_data

ADJECTIVES = {"bad": ("dirty", "awful", "stale"), "good": ("lovely", "great", "kind")}
ROWS = [
    (f"The {noun} was {word} on day {day}.", label)
    for day in range(4)
    for noun in ("soup", "room", "view")
    for label, words in ADJECTIVES.items()
    for word in words
]
NAMES = ["Ann Lee", "Bo Kim", "Eva Novak"]


def put(path: Path, content: Any) -> Path:
    text = "\n".join(map(json.dumps, content)) if path.suffix == ".jsonl" else json.dumps(content)
    path.write_text(content if isinstance(content, str) else text)
    return path


def each(**cells: Any) -> list[dict[str, Any]]:
    return [{name: cell(n) if callable(cell) else cell for name, cell in cells.items()} for n in range(len(ROWS))]


TACRED = {"relation": "left", "token": ["Ann", "left"], "subj_start": 0, "subj_end": 1, "obj_start": 3, "obj_end": 4}
CHAT = [{"role": "user", "content": ROWS[0][0]}, {"role": "assistant", "content": "good"}]
INDEX = {str(n): {"text": text, "label": label} for n, (text, label) in enumerate(ROWS)}
RASA = {"rasa_nlu_data": {"common_examples": [{"text": "a", "intent": "b", "entities": []}]}}
EMPTY_ARTICLES = {"data": [{"paragraphs": [{"context": text, "qas": []}]} for text, _ in ROWS]}
TYPED = {"text": lambda n: f"{NAMES[n % 3]} is in Rome", "source": lambda n: ["web", "app"][n % 2]}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", INDEX, "without a list of rows"),
        ("a.json", RASA, "without a list of rows"),
        ("a.json", EMPTY_ARTICLES, "has no questions: all its lists 'qas' are empty"),  # f15
        ("a.json", each(tokenized_text=["Ann", "lives"], ner=[[0, 0, "PER"]]), "GLiNER, whose spans count tokens"),
        ("a.json", each(id=str, **TACRED), "TACRED's columns, whose spans count tokens"),
        ("a.jsonl", each(query=lambda n: f"where is {n}", positive=lambda n: [f"in {n}"], negative=["no"]),
         r"queries with passages in columns \(query, positive, negative\).*a row for each passage"),
        ("a.jsonl", each(messages=CHAT), r"messages of chats \(the column 'messages'\)"),
        ("a.json", each(**TYPED, entities=lambda n: [{"entity": NAMES[n % 3], "type": "PER"}]), "holds objects, not"),
        ("a.jsonl", each(**TYPED, entities=[{"who": "Ann", "why": "no"}]), "'entities' holds objects, not labels"),
        ("a.txt", "".join(f"{label}\n{text}\n" for text, label in ROWS), "blocks of 2, of which one is a label"),
    ],
)  # fmt: skip
def test_a_near_miss_is_refused_by_name(name: str, content: Any, said: str, tmp_path: Path) -> None:  # f14
    with pytest.raises(UserError, match=said):
        own_task(str(put(tmp_path / name, content)), {})


TAGS = ("B-PER", "I-PER", "O", "O", "B-LOC", "O")


@pytest.mark.parametrize(
    ("lines", "said", "settings", "first"),
    [
        ([f"{text.replace('The ', 'The $T$ of the ')}\nowner\n{label}" for text, label in ROWS],
         "three lines each", {"text": "text,term"}, (ROWS[0][0].replace("The ", "The owner of the "), "bad")),
        ([f'7\t"<e1>One</e1> and <e2>two</e2> {text}"\n{label}\nComment: x\n' for text, label in ROWS],
         "SemEval-2010", {"text": "text"}, (f"<e1>One</e1> and <e2>two</e2> {ROWS[0][0]}", "bad")),
        ([f"<PER>{name}</PER> lives in <LOC>Rome</LOC> ." for name in NAMES * 9], r"marked in it \(LOC, PER", {}, TAGS),
        ([f"[PER {name}] lives in [LOC Rome] ." for name in NAMES * 10], r"marked in it \(LOC, PER\)", {}, TAGS),
        ([f"[{name}](PER) lives in [Rome](LOC) ." for name in NAMES * 10], r"marked in it \(LOC, PER\)", {}, TAGS),
        ([f"{name.replace(' ', '/B-PER ')}/I-PER lives/O here/O" + " too/O" * n for n, name in enumerate(NAMES * 9)],
         "a tag after each word", {}, ("B-PER", "I-PER", "O", "O")),
    ],
)  # fmt: skip
def test_the_command_of_a_refusal_makes_a_file_that_is_read(
    lines: list[str], said: str, settings: dict[str, str], first: tuple[str, ...], tmp_path: Path
) -> None:
    path = put(tmp_path / "data.txt", "".join(f"{line}\n" for line in lines))
    with pytest.raises(UserError, match=said) as error:
        own_task(str(path), {})
    command = re.search(r"(?:\(printf|python -c|awk) .*> (rows\.\w+)", str(error.value))
    assert command
    typed = command[0].replace("python -c", f"{sys.executable} -c")
    subprocess.run(typed, shell=True, check=True, cwd=tmp_path)
    rows = rows_of(tmp_path / command[1], settings)
    assert len(rows) == len(lines)
    assert first == (rows[0].gold if isinstance(rows[0].gold, tuple) else (rows[0].text, rows[0].gold))


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_lines_without_a_label_among_fasttexts_are_rows_without_one(share: float, tmp_path: Path) -> None:  # f04
    labelled = [n % 10 < 10 * share for n in range(2 * len(ROWS))]
    lines = [f"__label__{y} {x}" if has else x for has, (x, y) in zip(labelled, [*ROWS, *ROWS], strict=True)]
    task = own_data.own_task(str(put(tmp_path / "data.txt", "\n".join(lines))), {})  # check refuses the first one
    train, dev = (task.load(Source(), split) for split in ("train", "dev"))
    found = sorted((*train.rows, *dev.rows), key=lambda row: int(row.id))
    assert [row.text for row in found] == [x for has, (x, _) in zip(labelled, ROWS * 2, strict=True) if has]
    assert f"{labelled.count(False)} rows without a label" in " ".join(train.notes)

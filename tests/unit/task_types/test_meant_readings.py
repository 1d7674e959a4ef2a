"""Files of which one reading is plain and another is meant: the meant one is read, or the user is asked."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.files import write

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.own_data import own_task

TEXT = "Anna Berg joined Kakao in Berlin"
SPANS = [{"start": 0, "end": 9, "label": "PER"}, {"start": 17, "end": 22, "label": "ORG"}]
PLACES = ("Seoul", "Busan", "Berlin", "Oslo", "Rome", "Paris", "Lima", "Cairo", "Quito")


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    return write(path, "\n".join(json.dumps(row) for row in rows))


def entities_of(path: Path) -> set[tuple[str, str]]:
    """The (words, type) of the entities of the first row."""
    task = own_task(str(path), {})
    row = task.load(Source(), "train").rows[0]
    found, words = list[tuple[list[str], str]](), iter(zip(row.words, row.gold, strict=True))
    for word, tag in words:
        if tag.startswith("B-"):
            found.append(([word], tag[2:]))
        elif tag.startswith("I-"):
            found[-1][0].append(word)
    return {(" ".join(part), kind) for part, kind in found}


@pytest.mark.parametrize("unit", [lambda text: len(text.encode("utf-16-le")) // 2, lambda text: len(text.encode())])
def test_offsets_that_begin_words_in_another_unit_alone_are_of_it(unit: Any, tmp_path: Path) -> None:
    text = f"🎉🙂 {TEXT}"
    spans = [
        {"start": unit(text[: 3 + span["start"]]), "end": unit(text[: 3 + span["end"]]), "label": span["label"]}
        for span in SPANS
    ]
    rows = [{"text": f"{text} {n}", "entities": spans} for n in range(30)]
    assert entities_of(write_rows(tmp_path / "emoji.jsonl", rows)) == {("Anna Berg", "PER"), ("Kakao", "ORG")}


def test_a_target_next_to_a_stance_is_asked_about(tmp_path: Path) -> None:
    rows = [
        {"Target": "ab"[n % 2], "Tweet": f"the cat sat {n}", "Stance": ("FAVOR", "AGAINST", "NONE")[n % 3]}
        for n in range(30)
    ]
    with pytest.raises(UserError, match=r"label=Target .*label=Stance"):
        own_task(str(write_rows(tmp_path / "stance.jsonl", rows)), {})

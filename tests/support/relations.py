"""Toy rows of two marked spans, and the official files of the tasks that have them."""

import json
from pathlib import Path
from typing import Any

from finetune.metrics import auprc, micro_f1_without
from finetune.task_types.classification.task import SentenceRow, SentenceTask
from support.toys import sentences, toy

OPENING = ("<e1>", "<e2>")


def marked_rows(count: int) -> list[SentenceRow]:
    """`before` where the cat, the first span, is before the dog; the text around them says nothing."""
    rows = []
    for index, text in enumerate(sentences(count, seed=7)):
        pair = ["<e1>cat</e1>", "<e2>dog</e2>"]
        first, second = pair if index % 2 else pair[::-1]
        gold = "before" if index % 2 else "after"
        rows.append(SentenceRow(id=str(index), text=f"{text} {first} saw {second} {text}", gold=gold))
    return rows


def marked_task(**fields: Any) -> SentenceTask:
    """A task on these rows."""
    metrics = (micro_f1_without("none"), auprc)
    settings = {"name": "toy-marked", "labels": ("after", "before", "none"), "spans": OPENING, "metrics": metrics}
    return toy(SentenceTask, marked_rows(64), **(settings | fields))


def klue_rows(count: int) -> list[dict[str, Any]]:
    """Objects as in KLUE-RE's official files."""
    rows: list[dict[str, Any]] = []
    for index in range(count):
        names, label = [("손흥민", "PER"), ("서울", "LOC")], "per:place_of_birth"
        if index % 3 == 0:
            names, label = [("비틀즈", "ORG"), ("조지", "PER")], "org:top_members/employees"
        elif index % 3 == 1:
            names, label = [("손흥민", "PER"), ("비틀즈", "ORG")], "no_relation"
        sentence = f"{index}번째로 {names[1][0]}에서 {names[0][0]}은 노래했다."
        entities = [
            {"word": word, "start_idx": (at := sentence.index(word)), "end_idx": at + len(word) - 1, "type": kind}
            for word, kind in names
        ]
        row = {"guid": f"klue-re-v1_{index:05d}", "sentence": sentence, "source": "wikipedia", "label": label}
        rows.append(row | {"subject_entity": entities[0], "object_entity": entities[1]})
    return rows


def write_klue_re(folder: Path) -> None:
    """KLUE-RE in its official files; the test file has no labels."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, count in (("train", 24), ("dev", 12), ("test", 6)):
        rows = klue_rows(count)
        if split == "test":
            rows = [{name: value for name, value in row.items() if name != "label"} for row in rows]
        (folder / f"klue-re-v1.1_{split}.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


def write_semeval(folder: Path) -> None:
    """SemEval-2010 task 8 in its official files."""
    folder.mkdir(parents=True, exist_ok=True)
    ways = [("Cause-Effect(e1,e2)", "led to"), ("Cause-Effect(e2,e1)", "came from"), ("Other", "and")]
    for name, count in (("TRAIN_FILE.TXT", 40), ("TEST_FILE_FULL.TXT", 12)):
        lines = []
        for number in range(1, count + 1):
            label, words = ways[number % 3]
            lines += [f'{number}\t"The <e1>storm</e1> {words} the <e2>flood</e2> {number}."', label, "Comment:", ""]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

"""Damaged data files, through check, reading, guessing, fixing and prediction."""

import gzip
import json
from functools import partial
from pathlib import Path
from random import Random

from finetune.commands.check import as_json
from finetune.commands.check.findings import findings_of
from finetune.commands.check.fix import write_fixed
from finetune.data.detect import BY_SUFFIX
from finetune.data.reading import read_table
from finetune.data.writing import write_rows
from finetune.errors import UserError
from finetune.inference.predict_file import predict_file
from finetune.inference.predictor import Predictor
from finetune.runs.events import unwatched
from finetune.task_types.guess import guess
from finetune.task_types.own_data import usable_rows
from support.fuzzing import LONGEST, Fuzzed, damaged
from support.runs import DATA, REVIEWS

MEMORY = 2 << 30  # bytes of resident memory that all of them may add


def fuzz_data_files(count: int, seed: int, *, folder: Path, model: Path, predictor: Predictor) -> Fuzzed:
    """Damages `count` small files of all formats and task types in an empty folder, and asserts how each ends.

    `model` is the encoder whose tokenizer `check` uses, `predictor` a model of texts.
    """
    random, fuzzed = Random(seed), Fuzzed(longest=LONGEST)
    originals = _originals(folder)

    def use(path: Path) -> None:
        _assert_checked_or_refused(path, model)
        predict_file(predictor, path, folder / "out.jsonl", options={}, watch=unwatched)

    with fuzzed.within(MEMORY):
        for number in range(count):
            name, content = random.choice(originals)
            path = folder / f"{number}-{name}"
            path.write_bytes(damaged(content, random, fuzzed))
            fuzzed.add(path.name, partial(use, path))
            path.unlink()
    assert fuzzed.faults == []
    return fuzzed


def _originals(folder: Path) -> list[tuple[str, bytes]]:
    """(name, content) of small files of all formats, compressed ones too."""
    rows = [{"review": text, "mark": label} for text, label in REVIEWS]
    found = [(name, content.encode()) for name, content, _ in DATA.values()]
    for suffix, form in BY_SUFFIX.items():
        if suffix != ".conll":
            write_rows(folder / f"all{suffix}", rows, ["review", "mark"])
            found.append((f"all{suffix}", (folder / f"all{suffix}").read_bytes()))
            if not form.compressed:
                found.append((f"all{suffix}.gz", gzip.compress(found[-1][1])))
    squad = [{"context": "the cat sat", "qas": [{"id": "1", "question": "who?", "answers": []}]}]
    found.append(("squad.json", json.dumps({"data": [{"title": "t", "paragraphs": squad}]}).encode()))
    found.append(("labelled.txt", "".join(f"__label__{mark} {text}\n" for text, mark in REVIEWS).encode()))
    return found


def _assert_checked_or_refused(path: Path, model: Path) -> None:
    """Reading and checking: either a UserError in one line, or every row in its place."""
    for use in (lambda: _read(path), lambda: _check(path, model)):
        try:
            use()
        except UserError as error:
            assert "\n" not in str(error) and len(str(error)) < LONGEST, str(error)[:1_000]


def _check(path: Path, model: Path) -> None:
    report = findings_of(str(path), {"model": str(model)}, path.parent)
    json.dumps(next(as_json(report)))
    if report.corpus is not None:  # what is left of it is a text
        return
    count = len(report.parts[0].table) + len(report.parts[0].table.faults)
    for finding in report.findings:
        assert len(finding.rows) == len(finding.lines) <= finding.count <= count
        assert set(finding.rows) <= set(range(1, count + 1))
        assert "\n" not in finding.what + finding.remedy
    write_fixed(report.parts[0], path.with_name("fixed.jsonl"))


def _read(path: Path) -> None:
    """Everything up to rows."""
    table = read_table(path)
    numbers = [*table.rows, *(fault.row for fault in table.faults)]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))  # no row is lost, none comes twice
    assert all(len(column) == len(table) for column in table.columns.values())
    assert str(table.form)
    rows, _, notes = usable_rows(guess(table, {}), table, unlabelled=True)
    assert len(rows) <= len(table)
    assert notes or len(rows) == len(numbers)  # a note may also say how a cell is read

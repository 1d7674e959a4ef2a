"""Damaged data files, through check, reading, guessing, fixing and prediction."""

import gzip
import json
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
from support.fuzzing import Fuzzed, bounded, damaged, require_one_line
from support.runs import DATA, REVIEWS


def fuzz_data_files(count: int, seed: int, *, folder: Path, model: Path, predictor: Predictor) -> Fuzzed:
    """Damages `count` small files of all formats and task types in an empty folder, and asserts how each ends.

    `model` is the encoder whose tokenizer `check` uses, `predictor` a model of texts.
    """
    random, fuzzed = Random(seed), Fuzzed()
    originals = _originals(folder)
    for number in range(count):
        name, content = random.choice(originals)
        path = folder / f"{number}-{name}"
        path.write_bytes(damaged(content, random, fuzzed))
        fuzzed.tried += 1
        with bounded(path.name):
            assert_checked_or_refused(path, model)
            try:
                predict_file(predictor, path, folder / "out.jsonl", options={}, watch=unwatched)
                fuzzed.accepted += 1
            except UserError as error:
                require_one_line(error)
                fuzzed.refused += 1
        path.unlink()
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


def assert_checked_or_refused(path: Path, model: Path) -> None:
    """Reading and checking: either a UserError in one line, or every row in its place."""
    assert_read_or_refused(path)
    try:
        report = findings_of(str(path), {"model": str(model)}, path.parent)
        json.dumps(next(as_json(report)))
        if report.corpus is not None:  # what is left of it is a text
            return
        count = len(report.parts[0].table) + len(report.parts[0].table.faults)
        for finding in report.findings:
            assert len(finding.rows) == len(finding.lines) <= finding.count <= count
            assert set(finding.rows) <= set(range(1, count + 1))
        assert "\n" not in "".join(finding.what + finding.remedy for finding in report.findings)
        write_fixed(report.parts[0], path.with_name("fixed.jsonl"))
    except UserError as error:
        require_one_line(error)


def assert_read_or_refused(path: Path) -> None:
    """Everything up to rows: either a UserError in one line, or every row in its place."""
    try:
        table = read_table(path)
        numbers = [*table.rows, *(fault.row for fault in table.faults)]
        assert sorted(numbers) == list(range(1, len(numbers) + 1))  # no row is lost, none comes twice
        assert all(len(column) == len(table) for column in table.columns.values())
        assert str(table.form)
        layout = guess(table, {})
        rows, _, notes = usable_rows(layout, table, unlabelled=True)
        assert len(rows) <= len(table)
        assert notes or len(rows) == len(numbers)  # a note may also say how a cell is read
    except UserError as error:
        assert path.name in str(error)
        require_one_line(error)

"""Every committed record is found again: its recipe, with the data and weights that it names, gives its id.

Data, weights and precision are those of the record: they are of another machine. The columns of a user's own file are
part of an id, so a few rows stand in for each file that is not here: their columns and labels are those of the file.
What a recipe or record gets whose settings have gone is in retired.toml.
"""

import gzip
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

from finetune.errors import UserError
from finetune.runs.recipe import Recipe
from finetune.runs.resolve import parse, run_id
from finetune.task_types.options import changed_options, option_names, resolved
from finetune.task_types.types import columns_of

HERE = Path(__file__).parent
KEPT = HERE / "kept" / "records.json"  # the names of all records
RETIRED = HERE / "retired.toml"
RESULTS = ROOT / "results"
RECORDS = 327  # that there are at least
ROWS = 40  # of a file that stands in
TYPES = ("corporation", "creative-work", "group", "location", "person", "product")
BEFORE_COLUMNS = {  # whose ids are of a time when columns were no part of an id: the same command trains again today
    "own-files/266c469f62": "codah.csv",
    "own-files/a9c1b0b513": "wnut.jsonl",
    "own-files/f4b647e2d5": "sst2.csv.gz",
}


def records() -> dict[str, Path]:
    """The files of all committed records, by task's folder and id."""
    return {f"{file.parts[-3]}/{file.parts[-2]}": file for file in sorted(RESULTS.glob("*/*/record.json"))}


def retired() -> list[dict[str, Any]]:
    """Each has `words` of an error, and either a `file` of this repository or the text of a `recipe`."""
    return list(tomllib.loads(RETIRED.read_text(encoding="utf-8"))["retired"])


def recipe_of(file: Path) -> Recipe:
    """The recipe of a file, or of a record."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".toml":
        return parsed(text, str(file))
    settings = json.loads(text)["recipe"]
    if settings["train"].get("updates"):  # a record has both, a recipe one
        del settings["train"]["epochs"]
    return parse(settings, origin=str(file), options=option_names)


def parsed(text: str, origin: str) -> Recipe:
    return parse(tomllib.loads(text), origin=origin, options=option_names)


def id_today(name: str, file: Path) -> str:
    """The id that a run of a record's recipe would have, on its data."""
    record, recipe = json.loads(file.read_text(encoding="utf-8")), recipe_of(file)
    default, task = resolved(recipe.task, recipe.options)
    assert task.name == record["task"], name
    own = {} if name in BEFORE_COLUMNS else {"options": changed_options(default, task), "columns": columns_of(task)}
    return run_id(
        recipe, task=task.name, version=task.version, data=record["data"], weights=record["weights"],
        precision=record["precision"], **own,
    )  # fmt: skip


def write_stand_ins(folder: Path) -> None:
    """Rows for the files that are not here, with the columns and the labels that those have."""
    ratings = ["id\tdocument\tlabel", *(f"{n}\twords of text {n}\t{n % 2}" for n in range(ROWS))]
    choices = ["prompt,choice0,choice1,choice2,choice3,label"]
    choices += [f"who sat {n},a cat {n},a dog {n},a bird {n},a cow {n},{n % 4}" for n in range(ROWS)]
    tags = [["O", f"B-{TYPES[n % 6]}", f"I-{TYPES[n % 6]}"] for n in range(ROWS)]
    words = [json.dumps({"tokens": ["the", "cat", f"sat{n}"], "ner_tags": row}) for n, row in enumerate(tags)]
    files = {"ratings_train.txt": ratings, "ratings_test.txt": ratings, "codah.csv": choices, "wnut.jsonl": words}
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    sentences = ["sentence,label", *(f"words of text {n},{n % 2}" for n in range(ROWS))]
    (folder / "sst2.csv.gz").write_bytes(gzip.compress("\n".join(sentences).encode()))


def write() -> None:
    """Keeps the names of the records that there are now."""
    KEPT.write_text(json.dumps([*records()], indent=0) + "\n", encoding="utf-8")


def test_no_record_is_lost() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert len(kept) >= RECORDS
    assert sorted({*kept} - {*records()}) == []


def test_every_record_has_the_id_that_its_recipe_has_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stand_ins(tmp_path)
    monkeypatch.chdir(tmp_path)
    gone = {ROOT / entry["file"] for entry in retired() if "file" in entry}
    found = {name: id_today(name, file) for name, file in records().items() if file not in gone}
    assert {name: made for name, made in found.items() if name.partition("/")[2] != made} == {}


def test_what_uses_a_retired_setting_is_refused_by_name() -> None:
    """Parsing it is an error of one line, which has its words."""
    entries = retired()
    assert len(entries) > 10
    for entry in entries:
        with pytest.raises(UserError) as raised:
            recipe_of(ROOT / entry["file"]) if "file" in entry else parsed(entry["recipe"], "recipe.toml")
        said = str(raised.value)
        assert len(said.splitlines()) == 1, said
        assert [word for word in entry["words"] if word not in said] == [], said

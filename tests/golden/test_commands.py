"""Documented commands, right and wrong: the exit code, and the values that are printed or written.

The cases are in commands.toml. All are typed in a copy of one folder, with made-up files and five small runs.
"""

import io
import json
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from filelock import FileLock
from support.cli import exit_code
from support.data import write_rte
from support.runs import DATA, REVIEWS, as_csv

from finetune.cli.door import module_of

FILE = Path(__file__).with_name("commands.toml")
CASES: dict[str, Any] = tomllib.loads(FILE.read_text(encoding="utf-8"))
CODES = {"done": 0, "found": 1, "refused": 2}
EVERY = [(code, line, values) for kind, code in CODES.items() for line, *values in CASES[kind]]
QUICK = "model=encoder max_length=16 train.epochs=1 train.precision=fp32"
SAME = "model=encoder max_length=16 train.epochs=4 train.batch_size=8 train.learning_rate=2e-3 train.precision=fp32"
RUNS = {  # what is typed before all cases, by the name of the run
    "A": f"reviews.csv {SAME}",
    "B": f"reviews.csv {SAME} seed=7",
    "TAGS": f"tags.conll {QUICK}",
    "NUMBER": f"number.csv {QUICK}",
    "RTE": f"glue-rte {QUICK} --data data",
}
ROWS = 24  # of a file whose lines take turns
OLD_EXCEL = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(2_000)
AS_JSON = [(code, line) for code, line, _ in EVERY if code < 2 and not re.search("^--|--json", line)]
COMMANDS = {  # that must be typed rightly; `serve`, which would not end, wrongly alone
    *("check", "init", "run", "search", "ls", "show", "compare", "report", "explain", "table", "view"),
    *("predict", "evaluate", "features", "label-next", "tokenizer", "export", "submission", "push"),
}
LEAST = {"done": 50, "refused": 50}
SHORT = {"SAME": SAME, "QUICK": QUICK}


def write_files(folder: Path) -> None:
    """The files that the cases speak of."""
    for name, text in CASES["made"].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for name, (first, turns, last) in CASES["turns"].items():
        rows = [turns[row % len(turns)].replace("#", str(row)) for row in range(ROWS)]
        (folder / name).write_text(first + "".join(rows) + last, encoding="utf-8")
    labelled = [("the cat sat", "good"), ("the dog sat", "bad")]
    for name, rows in {"reviews": REVIEWS, "twice": [*REVIEWS[:40], *REVIEWS[:4]], "labelled": labelled * 9}.items():
        (folder / f"{name}.csv").write_text(as_csv(("review", "mark"), *rows), encoding="utf-8")
    for kind in ("tagging", "regression"):
        name, content, _ = DATA[kind]
        (folder / name).write_text(content, encoding="utf-8")
    survey = [f"{n}번째 의견은 {('좋다', '나쁘다')[n % 2]},{('만족', '불만')[n % 2]}" for n in range(40)]
    (folder / "korean.csv").write_text("\n".join(["의견,평가", *survey]), encoding="cp949")
    (folder / "windows.csv").write_text((folder / "reviews.csv").read_text(), encoding="utf-16")
    (folder / "rows").mkdir()
    for number in range(2):
        pq.write_table(pa.table({"review": ["the cat sat", "the dog sat"]}), folder / "rows" / f"{number}.parquet")
    (folder / "old.xls").write_bytes(OLD_EXCEL)
    write_rte(folder / "data")
    test_set = ["index\tsentence1\tsentence2", *(f"{n}\tthe cat sat\ta bird flew" for n in range(3_000))]
    (folder / "glue" / "RTE").mkdir(parents=True)
    (folder / "glue" / "RTE" / "test.tsv").write_text("\n".join(test_set) + "\n", encoding="utf-8")


def typed(folder: Path, line: str) -> int:
    """Types a command in a folder, whose `< FILE` is standard input, and returns its exit code."""
    words, _, read = line.partition(" < ")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("FINETUNE_DATA", raising=False)
        patch.setenv("COLUMNS", "200")
        patch.setattr(sys, "argv", ["finetune", *shlex.split(words)])
        patch.setattr(sys, "stdin", io.StringIO((folder / read).read_text(encoding="utf-8") if read else ""))
        return exit_code()


def begin(folder: Path, encoder: Path) -> None:
    """Writes the files, trains the runs, and notes their ids."""
    write_files(folder)
    shutil.copytree(encoder, folder / "encoder")
    ids: dict[str, str] = {}
    for name, words in RUNS.items():
        assert typed(folder, f"run {words} --device cpu --quiet") == 0, words
        (new,) = {file.parent.name for file in folder.glob("results/*/*/record.json")} - {*ids.values()}
        ids[name] = new
    run = next(folder.glob(f"results/*/{ids['A']}"))
    for place in ("several/reviews.csv/abc0000001", "several/reviews.csv/abc0000002", "damaged/reviews.csv/abc0000003"):
        shutil.copytree(run, folder / place)
    (folder / "damaged/reviews.csv/abc0000003/record.json").write_text("{}", encoding="utf-8")
    shutil.copytree(run, folder / "without" / "reviews.csv" / run.name)
    shutil.rmtree(folder / "without" / "reviews.csv" / run.name / "model")
    (folder / "ids.json").write_text(json.dumps(ids), encoding="utf-8")


@pytest.fixture(scope="session")
def begun(shared: Path, tiny_bert: Path) -> Path:
    """The folder that all cases begin with."""
    folder = shared / "commands"
    with FileLock(shared / "commands.lock"):
        if not (folder / "ids.json").exists():
            folder.mkdir()
            begin(folder, tiny_bert)
    return folder


@pytest.fixture
def place(begun: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it for one case."""
    yield Path(shutil.copytree(begun, tmp_path / "place"))
    shutil.rmtree(tmp_path / "place")


@pytest.mark.slow
@pytest.mark.parametrize(("code", "line", "values"), EVERY, ids=[f"{code}: {line}" for code, line, _ in EVERY])
def test_a_command(
    code: int,
    line: str,
    values: list[Any],
    place: Path,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    if line.startswith("push "):
        request.getfixturevalue("hub")
    names = SHORT | json.loads((place / "ids.json").read_text(encoding="utf-8"))
    capsys.readouterr()
    found = typed(place, line.format_map(names))
    out, err = capsys.readouterr()
    assert found == code, f"finetune {line}\n{out}{err}"
    assert_seen(("" if code == 2 else out) + (the_error(err) if code == 2 else err), values, place, names)


@pytest.mark.slow
@pytest.mark.parametrize(("code", "line"), AS_JSON, ids=[line for _, line in AS_JSON])
def test_a_command_as_json(
    code: int, line: str, place: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    """Standard output is JSON objects, one a line, with the keys that the docstring names (docs/agents.md has it)."""
    if line.startswith("push "):
        request.getfixturevalue("hub")
    names = SHORT | json.loads((place / "ids.json").read_text(encoding="utf-8"))
    words, read, file = line.format_map(names).partition(" < ")
    capsys.readouterr()
    found = typed(place, f"{words} --json{read}{file}")
    out, err = capsys.readouterr()
    assert found == code, f"finetune {line}\n{out}{err}"
    objects = [json.loads(text, parse_constant=pytest.fail) for text in out.splitlines()]
    assert objects and {type(one) for one in objects} == {dict}
    prints = getattr(module_of(line.split()[0]), "as_json", None)
    forms = [{*re.findall(r"`([\w.]+)`", form)} for form in (prints.__doc__ if prints else "`path`").split("; or ")]
    assert all(forms) and any(keys <= {*keys_of(objects)} for keys in forms), (forms, objects)


def keys_of(value: Any) -> Iterator[str]:
    """The keys of all objects in a JSON value."""
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys_of(inner)


def assert_seen(said: str, values: list[Any], folder: Path, names: Mapping[str, str]) -> None:
    """The values are in what was said, and those of a list in the file that it begins with."""
    for value in values:
        file, *wanted = value if isinstance(value, list) else ("", value)
        text = (folder / file).read_text(encoding="utf-8") if file else said
        lacking = [one for one in wanted if one.format_map(names) not in text]
        assert not lacking, f"{file or 'the output'} lacks {lacking}:\n{text[:2000]}"


def the_error(err: str) -> str:
    """The one line of error, which is the last that is said."""
    *before, last = err.strip().splitlines() or [""]
    assert last.startswith("error: "), err
    assert not [line for line in before if line.startswith(("error: ", "Traceback"))], err
    return last


def test_the_cases_are_many_and_of_every_command() -> None:
    for kind, least in LEAST.items():
        assert len(CASES[kind]) >= least, kind
    assert len({line for _, line, _ in EVERY}) == len(EVERY)
    assert {line.split()[0] for line, *_ in CASES["done"]} >= COMMANDS
    assert {line.split()[0] for line, *_ in CASES["refused"]} >= {"serve", "run", "predict", "compare", "check"}

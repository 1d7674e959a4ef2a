"""Every type of own data goes from a CSV file through check, run, predict and report; one is defined in tests alone."""

import csv
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from support.paths import ROOT, only_run
from support.toys import sentences

from finetune.task_types import own_data
from finetune.task_types.types import GROUP, OWN, own_types

InProcess = Callable[..., tuple[int, str, str]]
ROWS = 60
TEXTS = [f"the {text} day" for text in sentences(ROWS, seed=5)]
COLOURS = ("red", "blue", "old")


def colours(text: str) -> list[str]:
    return [colour for colour in COLOURS if colour in text.split()]


FILES: dict[str, list[dict[str, object]]] = {
    "classification": [{"text": text, "label": "yes" if i % 2 else "no"} for i, text in enumerate(TEXTS)],
    "regression": [{"text": text, "score": len(text) / 7} for text in TEXTS],
    "multi-label": [{"text": text, "labels": "|".join(["day", *colours(text)])} for text in TEXTS],
    "tagging": [
        {"words": text, "tags": " ".join("B-TIME" if word == "day" else "O" for word in text.split())} for text in TEXTS
    ],
    "intent-and-slots": [
        {
            "words": text,
            "slots": " ".join("B-TIME" if word == "day" else "O" for word in text.split()),
            "intent": ("ask", "tell")[i % 2],
        }
        for i, text in enumerate(TEXTS)
    ],
    "overlapping-spans": [
        {"text": f"the red cat sat {i} times", "spans": [[4, 11, "THING"], [4, 7, "COLOUR"]]} for i in range(len(TEXTS))
    ],
    "span": [
        {"question": f"who sat {i} ?", "context": f"{text} and cat {i} sat", "answers": f"cat {i}"}
        for i, text in enumerate(TEXTS)
    ],
    "choice": [
        {"context": text, "choice1": f"yes {i}", "choice2": f"no {i}", "label": i % 2} for i, text in enumerate(TEXTS)
    ],
    "ranking": [
        {"query": f"the {i // 4} cat", "passage": text, "relevance": int(i % 4 == 1)} for i, text in enumerate(TEXTS)
    ],
    "text": [{"review": f"{text}\n{text}", "mark": i % 2} for i, text in enumerate(sentences(300, seed=6))],
    "word-numbers": [
        {"words": text, "numbers": " ".join(str(len(word) / 2) for word in text.split())} for text in TEXTS
    ],
}
GIVEN = {"text": ("shape=text",)}  # types that no table is guessed to be of


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that brings the type `word-numbers`."""
    folder = tmp_path / "installed" / "word_numbers-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: word-numbers\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[{GROUP}]\nword-numbers = support.word_numbers:WordNumbers\n")
    monkeypatch.syspath_prepend(str(folder.parent))


def test_there_is_a_file_of_every_type(plugin: None) -> None:
    assert set(own_types()) == set(FILES)
    assert len(FILES) == len(OWN) + 1


@pytest.mark.parametrize("shape", FILES)
def test_a_file_is_checked_trained_on_predicted_and_reported(
    shape: str, plugin: None, in_process: InProcess, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guessed = []
    guess = own_data.guess
    monkeypatch.setattr(own_data, "guess", lambda *given, **named: guessed.append(given) or guess(*given, **named))
    data = tmp_path / "rows.csv"
    with data.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(FILES[shape][0]))
        writer.writeheader()
        writer.writerows(FILES[shape])
    model = [f"model={tiny_bert}", *GIVEN.get(shape, ())]

    code, out, err = in_process("check", "rows.csv", *model, data="")
    assert code == 0, out + err
    assert shape in out

    guessed.clear()
    small = ("max_length=64", "train.epochs=1", "train.batch_size=16")
    code, out, err = in_process("run", "rows.csv", *model, *small, data="")
    assert code == 0, err
    assert len(guessed) == (shape != "text")
    assert shape in err
    run = only_run(tmp_path)

    code, _, err = in_process("predict", run.name, "rows.csv", "-o", "out.csv", data="")
    assert code == 0, err
    with (tmp_path / "out.csv").open(newline="") as file:
        predicted = list(csv.DictReader(file))
    rows = [{name: row[name] for name in FILES[shape][0]} for row in predicted]
    given = [{name: str(cell) for name, cell in row.items()} for row in FILES[shape]]
    assert rows == given
    assert "error" not in predicted[0]
    assert any(row["prediction"] for row in predicted)

    code, _, err = in_process("report", run.name, "-o", "report.html", data="")
    assert code == 0, err
    page = (tmp_path / "report.html").read_text()
    assert 'id="run-1-dev"' in page
    assert "of an unknown task type" not in page


def test_the_import_rules_name_every_type() -> None:
    """So that no type imports another, but for what types of texts share with classification."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (rule["layers"] for rule in rules if rule["name"].startswith("Task types do not know each other"))
    independent, shared = layers
    folders = {type(kind).__module__.split(".")[2] for kind in own_types().values()}
    assert {*independent.split(" | "), shared} == folders - {"plugins"}
    assert shared == "classification"


def test_a_type_of_a_plugin_is_gone_with_it() -> None:
    assert not any("installed" in folder for folder in sys.path)
    assert "word-numbers" not in own_types()
    assert list(own_types()) == list(OWN)

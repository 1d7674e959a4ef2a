"""How files are read for a trained model: as its training file was, and no first row is taken for a header."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from finetune.data.reading import read_table
from finetune.errors import UserError
from finetune.task_types.columns import Layout
from finetune.task_types.own_data import own_task
from finetune.task_types.trained_form import form_for
from finetune.task_types.types import columns_of, layout_from, layout_of

LONG = [f"the {noun} {verb}, and it was {how}" for noun in ("film", "book", "song") for verb in ("began", "ended")
        for how in ("good; very good", "bad, alas", "good | long", 'so "so"', "fine")]  # fmt: skip
LABELS = ["pos", "neg", "pos", "neg", "pos"] * 6
NOUNS, VERBS = ("film", "book", "song", "cast", "plot"), ("began", "ended", "ran")
SHORT = [f"the {noun} {verb}, {number}" for noun in NOUNS for number, verb in enumerate(VERBS)]
MARKS = ["pos", "neg", "so"] * 5
SCORES = [f"{number / 7:.2f}" for number in range(15)]
CZECH = [f"{text} {word}" for text, word in zip(LONG, ["žluťoučký kůň", "příliš žluťoučký"] * 15, strict=True)]


def at(sign: str, *columns: Sequence[str], top: str = "") -> list[str]:
    """Rows of columns between a sign, with a header where one is given; cells that have the sign are quoted."""
    rows = [sign.join(f'"{cell}"' if sign in cell else cell for cell in row) for row in zip(*columns, strict=True)]
    return [*([top] if top else []), *rows]


WORDS = ["1\tAnn\tNNP\tB-PER", "2\tLee\tNNP\tI-PER", "3\truns\tVBZ\tO", ""]
CHARACTERS = ["我\tO", "在\tO", "北\tB-LOC", "京\tE-LOC", " \tO", "住\tO", ""]
COARSE = [f"{'DESC:manner' if label == 'pos' else 'HUM:ind'} {text}" for text, label in zip(LONG, LABELS, strict=True)]
USUAL = ["entailment" if label == "pos" else "spam" for label in LABELS]
TRAINED: dict[str, tuple[str, list[str], dict[str, str]]] = {
    "tabs": ("train.tsv", at("\t", LONG, LABELS, top="text\tlabel"), {}),
    "bare tabs": ("train.tsv", at("\t", LONG, LABELS), {"text": "column 1", "label": "column 2"}),
    "label first": ("first.data", at("\t", LABELS, LONG), {"text": "column 2", "label": "column 1"}),
    "usual labels": ("train.tsv", at("\t", LONG, USUAL, top="text\tlabel"), {}),
    "semicolons": ("train.csv", at(";", [t.replace(";", "") for t in LONG], LABELS, top="text;label"), {}),
    "commas": ("train.csv", at(",", SHORT, MARKS, top="text,label"), {}),
    "bare commas": ("train.csv", at(",", SHORT, MARKS), {}),
    "scores": ("train.tsv", at("\t", SHORT, SCORES, top="text\tscore"), {}),
    "pairs": ("train.tsv", at("\t", SHORT, SHORT[::-1], ["yes", "no", "no"] * 5),
              {"text": "column 1,column 2", "label": "column 3"}),
    "czech": ("train.tsv", at("\t", CZECH, LABELS, top="text\tlabel"), {"encoding": "cp1250"}),
    "words": ("train.iob2", WORDS * 20, {}),
    "characters": ("train.bmes", CHARACTERS * 30, {}),
    "labelled lines": ("train.label", COARSE, {}),
    "fasttext": ("marked.txt", [f"__label__{row}" for row in COARSE], {}),
}  # fmt: skip
TWO = ["Good film", "Bad plot"]
NO_HEADER = r"\d columns and no header, unlike the training file"
JSON = ['{"text": "a cat", "label": "pos"}', '{"text": "a dog", "label": "neg"}']
CASES: list[tuple[str, str, list[str], dict[str, str], Any]] = [  # the training file; a new one, options; what is read
    ("tabs", "same.tsv", TRAINED["tabs"][1][:3], {}, {"text": LONG[:2], "label": LABELS[:2]}),
    ("bare tabs", "same.tsv", TRAINED["bare tabs"][1][:2], {}, {"column 1": LONG[:2], "column 2": LABELS[:2]}),
    ("usual labels", "new.tsv", at("\t", LONG[:2], USUAL[:2]), {}, {"text": LONG[:2], "label": USUAL[:2]}),
    ("label first", "a.data", LONG[:2], {}, [LONG[:2]]),
    ("semicolons", "b.txt", TWO, {}, [TWO]),
    ("semicolons", "c.csv", ["text", *TWO], {}, {"text": TWO}),
    ("tabs", "new.txt", ["I love it, really", "I hate it, really"], {}, [["I love it, really", "I hate it, really"]]),
    ("tabs", "new.txt", ["[Urgent] call me", "no"], {}, [["[Urgent] call me", "no"]]),
    *((kind, f"new{suffix}", at(sign, SHORT[:6], MARKS[:6]), {}, f"{NO_HEADER}.*names of the columns above")
      for kind in ("commas", "bare commas") for sign, suffix in ((";", ".csv"), ("\t", ".tsv"), ("|", ".txt"))),
    ("commas", "new.tsv", at("\t", SHORT[:6], MARKS[:6], top="text\tlabel"), {}, [SHORT[:6], MARKS[:6]]),
    ("bare commas", "new.csv", [f'"{text}"' for text in SHORT[:4]], {}, [SHORT[:4]]),
    ("commas", "new.csv", at(",", ["a", "b"], MARKS[:2], SHORT[:2]), {}, "3 columns and no header"),
    ("bare commas", "new.csv", at(",", MARKS[:6], SHORT[:6]), {"text": "column 2"}, [MARKS[:6], SHORT[:6]]),
    ("pairs", "new.tsv", at("\t", SHORT[:3], SHORT[3:6]), {}, [SHORT[:3], SHORT[3:6]]),
    ("scores", "bare.txt", SHORT[:5], {}, "2 columns and no header"),
    ("czech", "new.tsv", ["text", "kůň"], {"encoding": "cp1250"}, {"text": ["kůň"]}),
    ("words", "new.iob2", WORDS[:3], {}, {"words": [["Ann", "Lee", "runs"]], "tags": [["B-PER", "I-PER", "O"]]}),
    ("words", "new.iob2", [row.rpartition("\t")[0] for row in WORDS[:3]], {}, {"words": [["Ann", "Lee", "runs"]]}),
    ("characters", "new.bmes", CHARACTERS, {}, {"words": [["我", "在", "北", "京", " ", "住"]]}),
    ("labelled lines", "one.label", COARSE[:2], {}, {"text": LONG[:2]}),
    ("labelled lines", "some.label", [*COARSE[:2], *LONG[:2]], {}, "only 50% of its lines have a label"),
    ("fasttext", "a.csv", ["text,label", "a cat,pos", "a dog,neg"], {},
     {"text": ["a cat", "a dog"], "label": ["pos", "neg"]}),
    ("fasttext", "a.jsonl", JSON, {}, {"text": ["a cat", "a dog"], "label": ["pos", "neg"]}),
]  # fmt: skip


def lines(path: Path, rows: Sequence[str], encoding: str = "utf-8") -> Path:
    path.write_text("".join(f"{row}\n" for row in rows), encoding=encoding)
    return path


def columns(path: Path, layout: Layout, **options: str) -> dict[str, list[Any]]:
    return read_table(path, form=form_for(path, layout, options)).columns


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Layout]:
    """The layouts that models trained on these files keep, as they are loaded again."""
    found = {}
    for kind, (name, rows, options) in TRAINED.items():
        file = lines(tmp_path_factory.mktemp("trained") / name, rows, options.get("encoding", "utf-8"))
        saved = layout_of(task := own_task(str(file), options))
        assert saved is not None and "file" not in columns_of(task)  # which are the id of a run
        found[kind] = layout_from(saved)
    return found


@pytest.mark.parametrize(("kind", "name", "rows", "options", "expected"), CASES)
def test_a_file_is_read_as_in_training(
    kind: str, name: str, rows: list[str], options: Any, expected: Any, layouts: dict[str, Layout], tmp_path: Path
) -> None:
    file = lines(tmp_path / name, rows, options.get("encoding", "utf-8"))
    if isinstance(expected, str):
        with pytest.raises(UserError, match=expected):
            columns(file, layouts[kind], **options)
        return
    found = columns(file, layouts[kind], **options)
    if isinstance(expected, list):
        assert list(found.values()) == expected
    else:
        assert {column: found[column] for column in expected} == expected
        assert ("tags" in found) <= (kind != "words" or "tags" in expected)

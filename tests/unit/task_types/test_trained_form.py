"""How files are read for a trained model: as its training file was, and no first row is taken for a header."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from finetune.data.reading import read_table
from finetune.errors import UserError
from finetune.task_types.columns import Layout, own_data
from finetune.task_types.own_data import own_task
from finetune.task_types.trained_form import form_for
from finetune.task_types.types import columns_of, layout_from, layout_of

TEXTS = [f"the {noun} {verb}, and it was {how}" for noun in ("film", "book", "song") for verb in ("began", "ended")
         for how in ("good; very good", "bad, alas", "good | long", 'so "so"', "fine")]  # fmt: skip
LABELS = ["pos", "neg", "pos", "neg", "pos"] * 6


def trained(path: Path, **options: str) -> Layout:
    """The layout that a model trained on the file keeps, as it is loaded again."""
    task = own_task(str(path), options)
    assert own_data(task) is not None
    saved = layout_of(task)
    assert saved is not None
    return layout_from(saved)


def columns(path: Path, layout: Layout | None, inputs: Sequence[str] = (), **options: str) -> dict[str, list[Any]]:
    return read_table(path, form=form_for(path, layout, options, inputs=inputs)).columns


def lines(path: Path, rows: Sequence[str], encoding: str = "utf-8") -> Path:
    path.write_text("".join(f"{row}\n" for row in rows), encoding=encoding)
    return path


@pytest.mark.parametrize("rows", [1, 2, 6])
@pytest.mark.parametrize("sign", ["\t", ";", "|"])
@pytest.mark.parametrize("header", [True, False])
def test_some_rows_of_the_training_file_are_read_as_there(tmp_path: Path, sign: str, header: bool, rows: int) -> None:
    texts = [text.replace(sign, " ") for text in TEXTS]
    every = [f"{text}{sign}{label}" for text, label in zip(texts, LABELS, strict=True)]
    top = [f"text{sign}label"] if header else []
    named = {} if header else {"text": "column 1", "label": "column 2"}
    layout = trained(lines(tmp_path / "train.data", [*top, *every]), **named)
    for name, some in (("same.data", [*top, *every[:rows]]), ("below.data", every[:rows])):
        found = columns(lines(tmp_path / name, some), layout)
        assert found[layout.text[0]] == texts[:rows]
        assert found[layout.label[0]] == LABELS[:rows]


NOUNS, VERBS = ("film", "book", "song", "cast", "plot"), ("began", "ended", "ran")
SHORT = [f"the {noun} {verb}, {number}" for noun in NOUNS for number, verb in enumerate(VERBS)]
MARKS = ["pos", "neg", "so"] * 5
SCORES = [f"{number / 7:.2f}" for number in range(15)]


def rows_of(sign: str, *columns: Sequence[str]) -> list[str]:
    return [sign.join(f'"{cell}"' if sign in cell else cell for cell in row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize(("sign", "suffix"), [(";", ".csv"), ("\t", ".tsv"), ("|", ".txt")])
def test_rows_at_another_delimiter_need_a_header(tmp_path: Path, header: bool, sign: str, suffix: str) -> None:
    top = ["text,label"] if header else []
    layout = trained(lines(tmp_path / "train.csv", [*top, *rows_of(",", SHORT, MARKS)]))
    bare = rows_of(sign, SHORT[:6], MARKS[:6])
    with pytest.raises(UserError, match=r"columns and no header, unlike the training file.*names of the columns above"):
        columns(lines(tmp_path / f"new{suffix}", bare), layout)
    found = columns(lines(tmp_path / f"new{suffix}", [f"text{sign}label", *bare]), layout)
    assert list(found.values()) == [SHORT[:6], MARKS[:6]]


@pytest.mark.parametrize("label", [MARKS, SCORES])
def test_columns_in_another_order_are_asked_for(tmp_path: Path, label: Sequence[str]) -> None:
    layout = trained(lines(tmp_path / "train.csv", rows_of(",", SHORT, label)))
    for sign in (",", "\t"):
        other = lines(tmp_path / "new.csv", rows_of(sign, label[:6], SHORT[:6]))
        with pytest.raises(UserError, match=r"2 columns and no header, unlike the training file.*'column NUMBER'"):
            columns(other, layout)
        assert columns(other, layout, text="column 2")["column 2"] == SHORT[:6]


def test_pairs_in_another_order_are_asked_for(tmp_path: Path) -> None:
    label, second = ["yes", "no", "no"] * 5, [f"a {text}" for text in SHORT]
    named = {"text": "column 1,column 2", "label": "column 3"}
    layout = trained(lines(tmp_path / "train.tsv", rows_of("\t", SHORT, second, label)), **named)
    assert columns(lines(tmp_path / "new.tsv", rows_of("\t", SHORT, second)[:3]), layout)["column 2"] == second[:3]
    with pytest.raises(UserError, match="3 columns and no header, unlike the training file"):
        columns(lines(tmp_path / "new.tsv", rows_of("\t", label, SHORT, second)[:6]), layout)


def test_numbers_that_end_a_text_are_asked_about(tmp_path: Path) -> None:
    tabs = trained(lines(tmp_path / "train.tsv", ["text\tscore", *rows_of("\t", SHORT, SCORES)]))
    with pytest.raises(UserError, match="2 columns and no header"):
        columns(lines(tmp_path / "bare.txt", SHORT[:5]), tabs)
    assert columns(lines(tmp_path / "named.txt", ["text", *SHORT[:5]]), tabs) == {"text": SHORT[:5]}


@pytest.mark.parametrize("header", [True, False])
def test_texts_in_quotes_keep_their_commas(tmp_path: Path, header: bool) -> None:
    top = ["text,label"] if header else []
    layout = trained(lines(tmp_path / "train.csv", [*top, *rows_of(",", SHORT, MARKS)]))
    found = columns(lines(tmp_path / "new.csv", [f'"{text}"' for text in SHORT[:4]]), layout)
    assert list(found.values()) == [SHORT[:4]]


def test_a_row_with_a_label_is_no_header(tmp_path: Path) -> None:
    layout = trained(lines(tmp_path / "train.csv", ["text,label", *rows_of(",", SHORT, MARKS)]))
    other = lines(tmp_path / "new.csv", rows_of(",", ["a", "b"], MARKS[:2], SHORT[:2]))
    with pytest.raises(UserError, match="3 columns and no header"):
        columns(other, layout)
    assert columns(other, layout, text="column 3")["column 3"] == SHORT[:2]


DOCUMENTS = {
    "a.csv": "text,label\na cat,pos\na dog,neg\n",
    "a.tsv": "label\ttext\npos\ta cat\nneg\ta dog\n",
    "a.jsonl": '{"text": "a cat", "label": "pos"}\n{"text": "a dog", "label": "neg"}\n',
    "a.json": '[{"text": "a cat", "label": "pos"}, {"text": "a dog", "label": "neg"}]',
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_and_tables_are_no_lines_of_text(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(DOCUMENTS[name])
    marked = [f"__label__{label} {text}" for text, label in zip(SHORT, MARKS, strict=True)]
    found = columns(tmp_path / name, trained(lines(tmp_path / "train.txt", marked)))
    assert (found["text"], found["label"]) == (["a cat", "a dog"], ["pos", "neg"])


def test_a_document_is_none_of_single_cells(tmp_path: Path) -> None:
    layout = trained(lines(tmp_path / "train.csv", rows_of(",", SHORT, MARKS)))
    texts = lines(tmp_path / "new.jsonl", [f'{{"text": "{text}"}}' for text in SHORT[:3]])
    assert columns(texts, layout) == {"text": SHORT[:3]}


def test_rows_of_several_labels_need_no_header(tmp_path: Path) -> None:
    rows = [f"{text.replace(',', '')},{number % 2},1,0" for number, text in enumerate(TEXTS)]
    path = lines(tmp_path / "train.csv", ["text,a,b,c", *rows])
    layout = trained(path, shape="multi-label", text="text", label="a,b,c")
    assert columns(lines(tmp_path / "new.csv", rows[:2]), layout)["a"] == ["0", "1"]


@pytest.mark.parametrize("header", [True, False])
def test_labels_that_are_usual_names_of_columns_are_no_header(tmp_path: Path, header: bool) -> None:
    rows = [f"{text}\t{'entailment' if label == 'pos' else 'spam'}" for text, label in zip(TEXTS, LABELS, strict=True)]
    named = {} if header else {"text": "column 1", "label": "column 2"}
    layout = trained(lines(tmp_path / "train.tsv", [*(["text\tlabel"] if header else []), *rows]), **named)
    assert columns(lines(tmp_path / "new.tsv", rows[:2]), layout)[layout.text[0]] == TEXTS[:2]


def test_how_a_file_was_read_changes_no_id_of_a_run(tmp_path: Path) -> None:
    rows = [f"{text}\t{label}" for text, label in zip(TEXTS, LABELS, strict=True)]
    task = own_task(str(lines(tmp_path / "train.tsv", ["text\tlabel", *rows])), {})
    saved = layout_of(task)
    assert saved is not None
    assert saved["file"]["layout"]["delimiter"] == "\t"
    assert "file" not in columns_of(task)


def test_a_file_without_labels_keeps_its_first_row(tmp_path: Path) -> None:
    rows = [f"{label}\t{text}" for text, label in zip(TEXTS, LABELS, strict=True)]
    first = trained(lines(tmp_path / "first.data", rows), text="column 2", label="column 1")
    assert list(columns(lines(tmp_path / "a.data", TEXTS[:2]), first).values()) == [TEXTS[:2]]
    csv = trained(
        lines(
            tmp_path / "train.csv",
            ["text;label", *(f"{t.replace(';', '')};{n}" for t, n in zip(TEXTS, LABELS, strict=True))],
        )
    )
    short = ["Good film", "Bad plot"]
    for name in ("b.txt", "b.csv", "b.dat", "b"):
        assert list(columns(lines(tmp_path / name, short), csv).values()) == [short]
        assert list(columns(lines(tmp_path / name, short), None, ["sentence"]).values()) == [short]
    assert columns(lines(tmp_path / "c.csv", ["text", *short]), csv) == {"text": short}
    assert columns(lines(tmp_path / "c.csv", ["review", *short]), csv) == {"review": short}
    assert columns(lines(tmp_path / "c.csv", ["said", "a good film", "a bad film"]), csv) == {
        "said": ["a good film", "a bad film"]
    }
    assert list(columns(lines(tmp_path / "c.txt", ["said", *TEXTS[3:5]]), csv).values()) == [["said", *TEXTS[3:5]]]


@pytest.mark.parametrize(
    "texts",
    [
        ["I love it, really", "I hate it, really"],
        ["Good; well", "Bad; so bad"],
        ["[Urgent] call me", "no"],
        ["{x} is what it says", "so good"],
        ["#good film", "bad film"],
    ],
)
def test_two_lines_of_prose_are_two_texts(tmp_path: Path, texts: list[str]) -> None:
    rows = [f"{text}\t{label}" for text, label in zip(TEXTS, LABELS, strict=True)]
    layout = trained(lines(tmp_path / "train.tsv", ["text\tlabel", *rows]))
    for known, inputs in ((layout, []), (None, ["sentence"])):
        assert list(columns(lines(tmp_path / "new.txt", texts), known, inputs).values()) == [texts]


def test_columns_may_be_numbered_where_there_is_no_header(tmp_path: Path) -> None:
    layout = trained(
        lines(tmp_path / "train.tsv", ["text\tlabel", *(f"{t}\t{n}" for t, n in zip(TEXTS, LABELS, strict=True))])
    )
    rows = ["a1|a good film", "b2|a bad film"]
    found = columns(lines(tmp_path / "new.csv", rows), layout, text="column 2")
    assert found == {"column 1": ["a1", "b2"], "column 2": ["a good film", "a bad film"]}


def test_a_place_of_the_training_file_is_not_that_of_any_file(tmp_path: Path) -> None:
    rows = [f"{number}\t{text}\t{label}" for number, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True))]
    layout = trained(lines(tmp_path / "train.tsv", rows), text="column 2", label="column 3")
    other = lines(tmp_path / "new.csv", ["well, the film was good,", "it ran,so long"])
    with pytest.raises(UserError, match=r"has \d columns and no header, unlike the training file"):
        columns(other, layout)
    assert columns(other, layout, text="column 1")["column 1"] != []


def test_pairs_of_a_text_file_keep_their_first_row(tmp_path: Path) -> None:
    rows = ["a cat sat\tthe cat sat", "a dog ran\tno dog ran"]
    found = columns(lines(tmp_path / "new.txt", rows), None, ["sentence1", "sentence2"])
    assert found == {"sentence1": ["a cat sat", "a dog ran"], "sentence2": ["the cat sat", "no dog ran"]}


def test_a_table_of_other_columns_than_a_shipped_task_has_keeps_its_header(tmp_path: Path) -> None:
    path = lines(tmp_path / "other.csv", ["he wrote,she wrote", "where is it?,in Rome", "who came?,nobody did"])
    assert list(columns(path, None)) == ["he wrote", "she wrote"]


def test_a_legacy_encoding_of_training_is_that_of_a_few_rows(tmp_path: Path) -> None:
    texts = [f"{text} {word}" for text, word in zip(TEXTS, ["žluťoučký kůň", "příliš žluťoučký"] * 15, strict=True)]
    rows = ["text\tlabel", *(f"{text}\t{label}" for text, label in zip(texts, LABELS, strict=True))]
    layout = trained(lines(tmp_path / "train.tsv", rows, "cp1250"), encoding="cp1250")
    assert columns(lines(tmp_path / "new.tsv", ["text", "kůň"], "cp1250"), layout) == {"text": ["kůň"]}
    assert columns(lines(tmp_path / "utf.tsv", ["text", "kůň"]), layout) == {"text": ["kůň"]}


def test_words_are_read_as_in_training_with_tags_or_without(tmp_path: Path) -> None:
    word = ["1\tAnn\tNNP\tB-PER", "2\tLee\tNNP\tI-PER", "3\truns\tVBZ\tO", ""]
    layout = trained(lines(tmp_path / "train.iob2", word * 20))
    bare = [line.rpartition("\t")[0] for line in word]
    for some in (word[:3], [*word, *word], [*bare, *bare], bare[:3]):
        found = columns(lines(tmp_path / "new.iob2", some), layout)
        assert found["words"][0] == ["Ann", "Lee", "runs"]
        assert ("tags" in found) == (some[0] == word[0])


def test_words_at_another_delimiter_keep_their_columns(tmp_path: Path) -> None:
    word = ["Ann B-PER", "runs O", ""]
    layout = trained(lines(tmp_path / "train.conll", word * 20))
    tabs = lines(tmp_path / "new.tsv", [row.replace(" ", "\t") for row in word])
    assert form_for(tabs, layout, {}).layout.delimiter == "\t"
    assert columns(tabs, layout) == {"words": [["Ann", "runs"]], "tags": [["B-PER", "O"]]}
    table = [f"{number},{row.replace(' ', ',')}" for number in range(6) for row in word if row]
    assert "tag" in columns(lines(tmp_path / "new.csv", ["sentence,word,tag", *table]), layout)


def test_single_characters_stay_characters(tmp_path: Path) -> None:
    marked = ["我\tO", "在\tO", "北\tB-LOC", "京\tE-LOC", " \tO", "住\tO", ""]
    layout = trained(lines(tmp_path / "train.bmes", marked * 30))
    for name, some in (("new.bmes", marked), ("few.bmes", marked[3:6])):
        found = columns(lines(tmp_path / name, some), layout)
        assert found["words"] == [[line.partition("\t")[0] for line in some if line]]
    assert columns(lines(tmp_path / "bare.bmes", list("我在北京")), layout)["words"] == [["我", "在", "北", "京"]]


def test_labelled_lines_with_labels_or_without(tmp_path: Path) -> None:
    rows = [
        f"{'DESC:manner' if label == 'pos' else 'HUM:ind'} {text}" for text, label in zip(TEXTS, LABELS, strict=True)
    ]
    layout = trained(lines(tmp_path / "train.label", rows))
    assert columns(lines(tmp_path / "one.label", rows[:2]), layout)["text"] == TEXTS[:2]
    assert columns(lines(tmp_path / "bare.label", TEXTS[:2]), layout) == {"text": TEXTS[:2]}
    marked = trained(lines(tmp_path / "marked.txt", [f"__label__{row}" for row in rows]))
    assert columns(lines(tmp_path / "new.txt", ["__label__x a cat"] * 3), marked) == {
        "label": ["x"] * 3,
        "text": ["a cat"] * 3,
    }
    with pytest.raises(UserError, match="only 50% of its lines have a label"):
        columns(lines(tmp_path / "some.label", [*rows[:2], *TEXTS[:2]]), layout)


@pytest.mark.parametrize(
    "file",
    [
        {"format": "delimited", "layout": {"delimiter": "ab", "quoted": True}},
        {"format": "delimited", "layout": {"delimiter": ",", "quoted": True, "skip": "x"}},
        {"format": "delimited", "layout": {"delimiter": ",", "quoted": True, "quote": 5}},
        {"format": "delimited", "columns": [], "layout": {"delimiter": ",", "quoted": True, "quote": "ab"}},
        {"format": "delimited", "columns": [], "layout": {"delimiter": ",", "quoted": True, "skip": -1}},
        {"format": "delimited", "layout": 5},
        {"format": "delimited"},
        {"format": "word-lines", "layout": {"delimiter": " ", "names": 5}},
        {"format": "word-lines", "layout": {"delimiter": " ", "names": ["a"], "sentence": "b"}},
        {"format": "labelled-lines", "layout": {"place": 5, "separator": ""}},
        {"format": "delimited", "columns": 5, "layout": {"delimiter": ",", "quoted": True}},
        {"format": [], "encoding": 5},
        {"encoding": "rot13"},
    ],
    ids=str,
)
def test_a_damaged_form_of_the_model_is_refused(tmp_path: Path, file: dict[str, Any]) -> None:
    layout = Layout(shape="classification", text=("text",), label=("label",), file=file)
    with pytest.raises(UserError, match="training file is damaged"):
        columns(lines(tmp_path / "new.csv", ["text,n", *TEXTS[:2]], "latin-1"), layout)

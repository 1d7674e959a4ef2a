"""From a file to a file of predictions: rows, columns, cells, formats and scores, and what is refused."""

import gzip
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.predicted_files import predict, read, written
from support.runs import LoadedRun, trained_run

from finetune.data.detect import BY_SUFFIX
from finetune.data.reading import read_table
from finetune.errors import UserError
from finetune.inference.predict_file import predict_file
from finetune.inference.predict_plan import default_output
from finetune.inference.predictor import Predictor, load_predictor
from finetune.runs.events import RowsPredicted, unwatched
from finetune.task_types.trained_form import form_for


def test_every_row_keeps_its_place_and_its_columns(reviewer: Predictor, tmp_path: Path) -> None:
    lines = ["id,review,stars", "a,the dog sat,1", 'b,"",2', "c,the cat sat,3", "d, ,"]
    (tmp_path / "new.csv").write_text("\n".join(lines))
    found = predict(reviewer, tmp_path / "new.csv", tmp_path / "out.csv")
    rows = read(tmp_path / "out.csv")
    assert list(rows[0]) == ["id", "review", "stars", "prediction", "p(bad)", "p(good)", "error"]
    assert [(row["id"], row["stars"], row["prediction"], bool(row["error"])) for row in rows] == [
        ("a", "1", "bad", False), ("b", "2", "", True), ("c", "3", "good", False), ("d", "", "", True)
    ]  # fmt: skip
    assert float(rows[0]["p(bad)"]) + float(rows[0]["p(good)"]) == pytest.approx(1, abs=1e-4)
    assert "'review'" in rows[1]["error"]
    assert (found.rows, found.failed, found.scores) == (4, 2, {})
    (tmp_path / "new.jsonl").write_text('{"review": "the cat sat", "n": 1}\n{broken\n{"review": "the dog sat", "n": 3}')
    predict(reviewer, tmp_path / "new.jsonl", tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(row.get("n"), row.get("prediction")) for row in rows] == [(1, "good"), (None, None), (3, "bad")]
    assert "is not JSON" in rows[1]["error"]


def test_labels_are_scored_by_name_in_all_and_by_class(reviewer: Predictor, tmp_path: Path) -> None:
    rows = ["mark,review", "good,the cat sat", "bad,the cat ran", "bad,the dog sat", ",the dog ran", "fine,the cat"]
    (tmp_path / "new.csv").write_text("\n".join(rows))
    found = predict(reviewer, tmp_path / "new.csv", tmp_path / "out.csv")
    assert found.scores["accuracy"] == pytest.approx(2 / 3)
    assert (found.scores["good/precision"], found.scores["bad/recall"]) == (0.5, 0.5)
    assert found.notes[0] == "1 row without a label (row 4; line 5); not scored"
    assert found.notes[1].startswith("1 row with the label 'fine', unknown to the model (row 5;")


def test_columns_of_other_names_are_given_and_none_is_overwritten(reviewer: Predictor, tmp_path: Path) -> None:
    lines = ["text,other,prediction,error", "the cat sat,the dog sat,mine,404", ",,mine,500"]
    (tmp_path / "new.csv").write_text("\n".join(lines))
    for name, answer in (("text", "good"), ("other", "bad")):
        found = predict(reviewer, tmp_path / "new.csv", tmp_path / "out.csv", text=name)
        rows = read(tmp_path / "out.csv")
        assert [(row["prediction"], row["error"]) for row in rows] == [("mine", "404"), ("mine", "500")]
        assert [row["predicted prediction"] for row in rows] == [answer, ""]
        assert ([bool(row["predicted error"]) for row in rows], found.failed) == ([False, True], 1)
    late = [{"review": "the cat sat"}] * 1_001 + [{"review": "the dog sat", "error": "404", "prediction": "mine"}]
    (tmp_path / "late.jsonl").write_text("\n".join(map(json.dumps, late)))  # columns that the first rows lack
    assert predict(reviewer, tmp_path / "late.jsonl", tmp_path / "out.jsonl").failed == 0
    last = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[-1])
    assert (last["error"], last["prediction"], last["predicted prediction"]) == ("404", "mine", "bad")


@pytest.mark.parametrize(
    ("content", "output", "options", "said"),
    [
        ("text,other\na,b\n", "out.csv", {}, r"has no column 'review'.*name it: text=text"),
        ("asked,reply\na b c d,e f g h\n", "out.csv", {}, "It has asked, reply.*reads 1 text; name it: text=COLUMN"),
        ("review\na\n", "out.csv", {"shape": "span"}, "unknown setting 'shape'"),
        ("review\n", "out.csv", {}, "has no rows below its header"),
        ("review\na\n", "new.csv", {}, "would overwrite the input"),
        ("review\na\n", "out.doc", {}, "output suffix"),
        ("review\na\n", "out.conll", {}, "CoNLL"),
        ("review\na\n", "none/out.csv", {}, "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_predicted(
    content: str, output: str, options: dict[str, str], said: str, reviewer: Predictor, tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text(content)
    with pytest.raises(UserError, match=said):
        predict(reviewer, tmp_path / "new.csv", tmp_path / output, **options)
    assert not list(tmp_path.glob("*out*")) and not list(tmp_path.glob(".out*"))
    assert (tmp_path / "new.csv").read_text() == content


@pytest.mark.parametrize("suffix", [*sorted({*BY_SUFFIX} - {".conll"}), ".csv.gz"])
def test_any_format_has_the_cells_of_the_input_dates_and_numbers_as_texts(
    reviewer: Predictor, tmp_path: Path, suffix: str
) -> None:
    columns = {
        "review": ["the cat\rsat, 가", "the dog sat"],
        "day": [date(2024, 2, 29), None],
        "at": [datetime(2024, 2, 29, 12, 30, 5, tzinfo=UTC), None],
        "hour": [time(12, 30), None],
        "price": [Decimal("1.20"), None],
        "seconds": [1700000123.5, float("nan")],
    }
    pq.write_table(pa.table(columns), tmp_path / "new.parquet")
    found = list[int | None]()
    predict_file(
        reviewer, tmp_path / "new.parquet", tmp_path / f"out{suffix}", options={},
        watch=lambda event: found.append(event.total) if isinstance(event, RowsPredicted) else None,
    )  # fmt: skip
    table = read_table(tmp_path / f"out{suffix}").columns
    texts = ["2024-02-29", "2024-02-29T12:30:05+00:00", "12:30:00", "1.20", "1700000123.5"]
    assert [str(table[name][0]) for name in columns if name != "review"] == texts
    assert [text.replace("\n", "\r") for text in table["review"]] == columns["review"]
    assert table["prediction"] == ["good", "bad"]
    assert (found, list(tmp_path.glob(".out*"))) == ([2], [])  # nothing else is left


@pytest.mark.parametrize(
    ("encoding", "suffix", "marked"),
    [("utf-8-sig", ".csv", True), ("utf-8-sig", ".jsonl", False), ("utf-8", ".csv", False), ("cp949", ".csv", True)],
)
def test_csv_has_a_byte_order_mark_where_its_input_is_marked_or_of_an_older_encoding(
    reviewer: Predictor, tmp_path: Path, encoding: str, suffix: str, marked: bool
) -> None:
    path, output = tmp_path / "new.csv.gz", tmp_path / f"out{suffix}"
    lines = [f"오늘 본 영화는 정말 {i}번 보아도 좋은 영화였다,{i}" for i in range(30)]
    path.write_bytes(gzip.compress("\n".join(["review,when", *lines]).encode(encoding)))
    predict(reviewer, path, output)
    assert output.read_bytes().startswith(b"\xef\xbb\xbf") is marked
    assert read_table(output).columns["review"][0] == lines[0].partition(",")[0]


FORMULAS = ["=cmd|' /C calc'!A0", "-3.5", "@x", "+ one", "\ttab", "+1"]


@pytest.mark.parametrize(
    ("escape", "expected", "count"),
    [(False, FORMULAS, 0), (True, ["'=cmd|' /C calc'!A0", "-3.5", "'@x", "'+ one", "'\ttab", "+1"], 4)],
)
def test_cells_like_formulas_are_as_they_are_or_escaped_by_choice(
    escape: bool, expected: list[str], count: int, reviewer: Predictor, tmp_path: Path
) -> None:
    path = written(tmp_path / "new.csv", [("review", "note"), *(("the cat", cell) for cell in FORMULAS)])
    for suffix in (".csv", ".tsv"):
        output = tmp_path / f"out{suffix}"
        found = predict_file(reviewer, path, output, options={}, watch=unwatched, escape=escape)
        assert read_table(output).columns["note"] == expected
        notes = [note for note in found.notes if f": {count} cells escaped with a leading apostrophe" in note]
        assert len(notes) == bool(count)


SQUAD = {
    "data": [
        {"paragraphs": [{"context": "the dog sat", "qas": [{"id": "a", "question": "who sat?"},
         {"id": "b", "question": "who ran?", "is_impossible": True, "plausible_answers": []}], "extra": 1}]}
    ],
}  # fmt: skip


def test_answers_of_squad_are_written_by_id(loaded_run: LoadedRun, tmp_path: Path) -> None:
    (tmp_path / "new.json").write_text(json.dumps({"version": "v2.0"} | SQUAD))
    found = predict(loaded_run("span"), tmp_path / "new.json", tmp_path / "out.json")
    assert (found.rows, found.failed) == (2, 0)
    after = json.loads((tmp_path / "out.json").read_text())
    assert set(after) == {"a", "b"} and all(isinstance(answer, str) for answer in after.values())


SIGNS = "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出"
SENTENCE = "# id = 1\n1\t我\tPN\tO\n2\t在\tVV\tO\n3\t北\tNR\tB-LOC\n4\t京\tNR\tE-LOC\n\n"
TAGS = {"O", "B-LOC", "I-LOC"}


def several(count: int) -> str:
    return "".join(SENTENCE.replace("我", sign) for sign in SIGNS[:count])


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Predictor:
    folder = tmp_path_factory.mktemp("tags")
    (folder / "train.bmes").write_text(several(30))
    return load_predictor(trained_run(folder / "results", folder / "train.bmes", tiny_bert))


def last_columns(file: Path) -> tuple[list[str], set[str]]:
    """The lines without their last column, and what that has."""
    lines = [line.rpartition("\t") for line in file.read_text().split("\n") if line]
    return [before for before, _, _ in lines], {tag for _, _, tag in lines}


@pytest.mark.parametrize("suffix", [".bmes", ".conll"])
@pytest.mark.parametrize("tagged", [True, False])
def test_lines_of_words_are_written_as_columns_with_the_tags_last(
    tagger: Predictor, tmp_path: Path, suffix: str, tagged: bool
) -> None:
    text = f"-DOCSTART-\n\n{SENTENCE}\r\n\n{SENTENCE}5\t。\tPU\tO"
    if not tagged:
        text = text.replace("\tO", "").replace("\tB-LOC", "").replace("\tE-LOC", "")
    path = tmp_path / f"new{suffix}"
    path.write_bytes(text.encode())
    output = default_output(path, form_for(path, tagger.layout, {}))
    assert str(output) == "new.predicted.conll"
    found = predict(tagger, path, tmp_path / output)
    assert (found.rows, found.failed, bool(found.scores)) == (3, 0, tagged)
    before, tags = last_columns(tmp_path / output)
    assert before == [line for line in text.split("\n") if "\t" in line]
    assert tags <= TAGS


def test_tags_of_another_form_and_columns_with_names_are_read_alike(tagger: Predictor, tmp_path: Path) -> None:
    (tmp_path / "own.bmes").write_text(several(3))
    (tmp_path / "other.bmes").write_text(several(3).replace("B-LOC", "LOC_B").replace("E-LOC", "LOC_E"))
    own, other = (predict(tagger, tmp_path / f"{n}.bmes", tmp_path / f"{n}.out.conll") for n in ("own", "other"))
    assert own.scores == other.scores != {}
    words = [f"Sentence: {number},{sign},{tag}" for number, sign in enumerate(SIGNS[:20], start=1)
             for sign, tag in ((sign, "O"), ("北", "B-LOC"), ("京", "E-LOC"))]  # fmt: skip
    (tmp_path / "words.csv").write_text("\n".join(['Sentence #,Word,"Tag"', *words]))
    predict(tagger, tmp_path / "words.csv", tmp_path / "out.conll", text="Word", label="Tag")
    assert last_columns(tmp_path / "out.conll")[0] == [word.replace(",", "\t") for word in words]

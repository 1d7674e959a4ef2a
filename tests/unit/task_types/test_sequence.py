"""Sources and targets in a user's columns: named, asked about, refused; and as tokens."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.toys import written_task

from finetune.data.reading import table_of
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.guess import guess
from finetune.task_types.own_data import own_task
from finetune.task_types.row_builder import rows_of
from finetune.task_types.row_issues import NoRow
from finetune.task_types.sequence.row import SequenceRow
from finetune.task_types.sequence.task import nearest_rows

TEXTS = ["the cat sat on the mat", "a dog ran away", "birds fly over the sea", "the sun is hot today"]
OTHERS = ["die Katze sass", "ein Hund lief weg", "Vögel fliegen", "die Sonne ist heiss"]


def written(folder: Path, header: str, *columns: Sequence[Any], times: int = 6) -> Path:
    lines = [
        "\t".join(f"{cell} {n}" if cell else "" for cell in cells)
        for n in range(times)
        for cells in zip(*columns, strict=True)
    ]
    path = folder / "data.tsv"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def test_two_texts_without_a_label_are_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path, "english\tgerman", TEXTS, OTHERS)
    with pytest.raises(Ambiguous) as question:
        own_task(str(path), {})
    assert [setting for setting, _ in question.value.choices] == [
        "target=german",
        "target=english",
        "text=english,german label=COLUMN",
        "shape=text",
    ]
    for setting in ("german", "english"):
        assert own_task(str(path), {"target": setting}).name == "data.tsv"


def test_two_columns_of_words_are_asked_about(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(24)]
    path = tmp_path / "words.csv"
    path.write_text("\n".join(["singular,plural", *(f"{word}x,{word}xs" for word in words)]) + "\n")
    with pytest.raises(Ambiguous, match="two columns of texts"):
        own_task(str(path), {})
    assert guess(table_of(path, ""), {"target": "plural"}).text == ("singular",)


def test_a_target_makes_a_sequence(tmp_path: Path) -> None:
    path = written(tmp_path, "english\tgerman", TEXTS, OTHERS)
    layout = guess(table_of(path, ""), {"target": "german"})
    assert (layout.shape, layout.text, layout.label) == ("sequence", ("english",), ("german",))
    first = next(row for _, row in rows_of(layout, table_of(path, "")))
    assert first == SequenceRow(id="1", source=f"{TEXTS[0]} 0", target=f"{OTHERS[0]} 0")
    again = guess(table_of(path, ""), {**layout.options(), "target": "german"})  # as a record has them
    assert (again.shape, again.text, again.label) == (layout.shape, layout.text, layout.label)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"target": "german", "label": "english"}, "label=english"),
        ({"target": "german", "shape": "classification"}, "shape=classification"),
        ({"target": "nope"}, "no column 'nope' (target=nope)"),
        ({"target": "german", "text": "english,more"}, "english, more"),
        ({"target": "german", "text": "german"}, "both source and target"),
        ({"shape": "sequence"}, "target=COLUMN"),
        ({"target": "german"}, "2 columns could be the source"),
    ],
)
def test_settings_that_do_not_fit_are_refused(given: dict[str, str], named: str, tmp_path: Path) -> None:
    path = written(tmp_path, "english\tmore\tgerman", TEXTS, OTHERS, OTHERS)
    with pytest.raises(UserError) as error:
        guess(table_of(path, ""), given)
    assert named in str(error.value) or named in error.value.way_out


def test_rows_without_a_target_are_left_out_with_a_line(tmp_path: Path) -> None:
    path = written(tmp_path, "english\tgerman", [*TEXTS, "no target"], [*OTHERS, ""])
    loaded = own_task(str(path), {"target": "german"}).load(Source(), "train")
    assert all(row.target for row in loaded.rows)
    assert any("6 rows without a label" in note for note in loaded.notes)


def test_a_row_without_a_source_is_none(tmp_path: Path) -> None:
    path = written(tmp_path, "english\tgerman", ["", *TEXTS], [OTHERS[0], *OTHERS], times=1)
    layout = guess(table_of(path, ""), {"target": "german"})
    first = next(row for _, row in rows_of(layout, table_of(path, "")))
    assert isinstance(first, NoRow)


def test_features_have_the_source_and_the_target_behind_its_first_token(tiny_bert: Path) -> None:
    tokenizer, task = load_tokenizer(tiny_bert), written_task(max_target_tokens=4)
    rows = [SequenceRow(id="1", source="the cat", target="cat the"), SequenceRow(id="2", source="a dog")]
    some, other = task.codec.encode(rows, tokenizer, 16)
    assert some.input_ids.tolist() == tokenizer("the cat")["input_ids"]
    assert some.label.tolist() == tokenizer("cat the")["input_ids"][1:]
    assert not some.truncated
    assert other.label is None
    assert task.codec.decode([some.label], [some], rows[:1])[0].value == "cat the"


def test_a_target_over_the_limit_is_truncated_and_counted(tiny_bert: Path) -> None:
    tokenizer, task = load_tokenizer(tiny_bert), written_task(max_target_tokens=4)
    (some,) = task.codec.encode([SequenceRow(id="1", source="a", target="a cat the dog sat")], tokenizer, 16)
    assert some.truncated
    assert len(some.label) == 4
    assert some.label[-1] == tokenizer.sep_token_id
    assert "max_target_tokens 4" in task.codec.truncation_note(16)


def test_the_nearest_row_is_that_with_the_same_words() -> None:
    assert nearest_rows(TEXTS, ["the hot sun", "a dog ran", "zzz"]) == [3, 1, 0]
    assert nearest_rows(["!", "?"], ["."]) == [0]


def test_a_note_says_that_capitals_cannot_be_written() -> None:
    task, rows = written_task(), [SequenceRow(id="1", source="a", target="A Cat")]
    answers = task.scoring.labels(rows)
    assert task.scoring.notes(answers, rows) == []
    lower = [type(answers[0])(value="a cat")]
    (note,) = task.scoring.notes(lower, rows)
    assert "lower=true" in note
    assert written_task(lower=True).scoring.score(lower, rows)["em"] == 1

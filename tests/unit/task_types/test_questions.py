"""Where columns can mean several things: what is asked, and that each column that could be the answer is offered."""

import random
from pathlib import Path

import pytest
from support.own_data import own_task

from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.columns import Layout

COUNT = 60
DRAW = random.Random(26)
WORDS = ["river", "market", "garden", "window", "letter", "winter", "valley", "bridge", "doctor", "island", "summer"]
TEXTS = [" ".join(DRAW.choices(WORDS, k=9)) + "." for _ in range(COUNT)]
OTHERS = [" ".join(DRAW.choices([word[::-1] for word in WORDS], k=9)) + "?" for _ in range(COUNT)]
FOLLOWING = [" ".join(text.split()[:5]) + " by the sea" for text in TEXTS]
PLACES = [" ".join(DRAW.sample(WORDS, 2)).title() if DRAW.random() < 0.7 else "" for _ in range(COUNT)]
DATES = [
    f"{DRAW.randint(1, 28)}. {DRAW.choice(['März', 'Mai', 'Juni'])} {DRAW.randint(2015, 2024)}" for _ in range(COUNT)
]
CLASSES = [DRAW.choice(["good", "bad", "mixed"]) for _ in range(COUNT)]
FLAGS = [[str(DRAW.randint(0, 1)) for _ in range(COUNT)] for _ in range(3)]


def written(folder: Path, *columns: list[str], header: str = "") -> str:
    lines = ["\t".join(cells) for cells in zip(*columns, strict=True)]
    (folder / "train.tsv").write_text("\n".join([*([header] if header else []), *lines]) + "\n", encoding="utf-8")
    return str(folder / "train.tsv")


def layout_of(data: str, **settings: str) -> Layout:
    found: Layout = own_task(data, settings).read.layout  # type: ignore[attr-defined]
    return found


def offered(data: str, **settings: str) -> list[str]:
    with pytest.raises(Ambiguous) as asked:
        own_task(data, settings)
    return [setting for setting, _ in asked.value.choices]


def test_without_a_header_texts_that_share_words_are_a_pair(tmp_path: Path) -> None:
    assert layout_of(written(tmp_path, CLASSES, TEXTS, FOLLOWING)).text == ("column 2", "column 3")


@pytest.mark.parametrize("columns", [(CLASSES, TEXTS, OTHERS), (TEXTS, OTHERS, CLASSES)], ids=["last", "first"])
def test_without_a_header_texts_that_share_nothing_are_asked_about(
    columns: tuple[list[str], ...], tmp_path: Path
) -> None:
    one, other = (f"column {place}" for place, cells in enumerate(columns, start=1) if cells is not CLASSES)
    assert {f"text={one}", f"text={other}", f"text={one},{other}"} <= {*offered(written(tmp_path, *columns))}


@pytest.mark.parametrize("other", [PLACES, DATES], ids=["places", "dates"])
def test_without_a_header_a_place_and_a_date_are_no_second_text(other: list[str], tmp_path: Path) -> None:
    assert layout_of(written(tmp_path, CLASSES, TEXTS, other)).text == ("column 2",)


def test_a_cleaned_copy_of_a_text_makes_no_pair(tmp_path: Path) -> None:
    assert "text=column 2" in offered(written(tmp_path, CLASSES, TEXTS, [text.lower().strip(".") for text in TEXTS]))


def test_two_answers_of_a_survey_are_asked_about(tmp_path: Path) -> None:
    assert "text=q1" in offered(written(tmp_path, TEXTS, OTHERS, CLASSES, header="q1\tq2\tmood"))


def test_a_question_offers_flags_that_are_apart_alone_and_together(tmp_path: Path) -> None:
    one, other, third = FLAGS
    data = written(tmp_path, one, TEXTS, other, DATES, third, header="new\ttext\topen\twhen\turgent")
    found = offered(data)
    assert found[0] == "label=new,open,urgent"
    assert {"label=new", "label=open", "label=urgent"} <= {*found}


def test_a_question_offers_columns_whose_names_say_less(tmp_path: Path) -> None:
    amounts = [str(DRAW.random()) for _ in range(COUNT)]
    data = written(
        tmp_path, TEXTS, CLASSES, FLAGS[0], amounts, CLASSES[::-1], header="text\tmood\ttopic\tanger\tsource"
    )
    assert offered(data) == ["label=topic", "label=mood", "label=anger", "label=source"]


def test_words_that_say_what_stars_say_are_the_label(tmp_path: Path) -> None:
    stars = [str(DRAW.randint(1, 5)) for _ in range(COUNT)]
    moods = ["good" if star > "3" else "bad" for star in stars]
    assert layout_of(written(tmp_path, TEXTS, stars, moods, header="text\trating\tsentiment")).label == ("sentiment",)
    other = written(tmp_path, TEXTS, stars, CLASSES, header="text\trating\tsentiment")
    assert offered(other) == ["label=sentiment", "label=rating"]


def test_a_file_whose_label_nothing_shows_is_asked_about(tmp_path: Path) -> None:
    data = written(tmp_path, TEXTS, [DRAW.choice(["de", "fr"]) for _ in range(COUNT)], header="text\tlang")
    with pytest.raises(UserError, match="label=COLUMN, one of lang"):
        own_task(data)
    assert layout_of(data, label="lang").labels == ("de", "fr")


def test_numbered_columns_are_no_choices_where_the_label_is_none_of_them(tmp_path: Path) -> None:
    data = written(tmp_path, TEXTS, OTHERS, FOLLOWING, CLASSES, header="q1\tq2\tq3\tlabel")
    assert not any(setting.startswith("shape=choice") for setting in offered(data))


def test_choices_without_a_header_are_offered(tmp_path: Path) -> None:
    right = [str(DRAW.randint(0, 2)) for _ in range(COUNT)]
    data = written(tmp_path, TEXTS, OTHERS, FOLLOWING, OTHERS[::-1], right)
    setting = "shape=choice text=column 1,column 2,column 3,column 4"
    assert setting in offered(data)


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        (["toxic", "obscene", "is_member"], ["toxic,obscene", "is_member"]),
        (["hasImage", "toxic", "obscene"], ["toxic,obscene", "hasImage"]),
        (["유해", "욕설", "회원여부"], ["유해,욕설", "회원여부"]),
        (["toxic", "is_member"], ["toxic", "is_member"]),
    ],
)
def test_flags_that_are_not_of_one_kind_are_asked_about(names: list[str], parts: list[str], tmp_path: Path) -> None:
    found = offered(written(tmp_path, TEXTS, *FLAGS[: len(names)], header="\t".join(["text", *names])))
    assert found[0] == f"label={','.join(names)}" and {f"label={part}" for part in parts} <= {*found}
    assert {f"label={name}" for name in names} <= {*found} and len({*found}) == len(found)


@pytest.mark.parametrize("split", ["train", "is_test", "validation"])
def test_a_flag_that_tells_the_split_is_no_label(split: str, tmp_path: Path) -> None:
    layout = layout_of(written(tmp_path, TEXTS, *FLAGS[:2], header=f"text\t{split}\tspam"))
    assert (layout.shape, layout.label) == ("classification", ("spam",))


@pytest.mark.parametrize("shape", ["classification", "regression"])
def test_several_columns_are_not_read_as_the_first_of_them(shape: str, tmp_path: Path) -> None:
    data = written(tmp_path, TEXTS, *FLAGS[:3], header="text\tgood\tbad\tmixed")
    with pytest.raises(UserError, match="reads one label, and the columns good, bad, mixed are several"):
        layout_of(data, shape=shape)


def test_flags_of_one_kind_are_several_labels(tmp_path: Path) -> None:
    for names in ("toxic\tobscene\tthreat", "is_toxic\tis_rude\tis_sad", "is_toxic\thas_toxic\tis_spam", "new\topen"):
        layout = layout_of(written(tmp_path, TEXTS, *FLAGS[: names.count("\t") + 1], header=f"text\t{names}"))
        assert (layout.shape, layout.label) == ("multi-label", tuple(names.split("\t")))


def test_adjacent_flags_among_scattered_ones_are_offered_together(tmp_path: Path) -> None:
    data = written(tmp_path, FLAGS[0], TEXTS, *FLAGS[1:], header="is_member\ttext\ttoxic\tobscene")
    found = offered(data)
    assert found[0] == "label=is_member,toxic,obscene" and "label=toxic,obscene" in found

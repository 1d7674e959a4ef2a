"""What commas and points mean in columns of numbers, and what the names of columns say."""

import random

import pytest

from finetune.data.column_types import facts_of, reading_of_commas
from finetune.data.values import as_list, as_number
from finetune.task_types.column_names import is_about, is_id_name, label_tier, text_tier

GENERATOR = random.Random(0)


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Each test draws the same cells, whichever ran before it."""
    GENERATOR.seed(0)


def some(make: str, count: int = 120) -> list[str]:
    """Cells of one kind, drawn again for each test."""
    draw = {
        "decimal": lambda: f"{GENERATOR.randint(1, 5)},{GENERATOR.randint(0, 9)}",
        "small decimal": lambda: f"0,{GENERATOR.randint(100, 999)}",
        "German": lambda: f"{GENERATOR.randint(1, 9)}.{GENERATOR.randint(100, 999)},50",
        "labels": lambda: ",".join(map(str, sorted(GENERATOR.sample(range(28), GENERATOR.choice([1, 1, 1, 2]))))),
        "three labels": lambda: ",".join(map(str, GENERATOR.sample(range(4), GENERATOR.choice([1, 2, 3])))),
        "thousands": lambda: f"{GENERATOR.choice([GENERATOR.randint(1, 999), GENERATOR.randint(1000, 99999)]):,}",
        "English": lambda: f"{GENERATOR.randint(1000, 99999):,}.5",
        "four digits": lambda: f"{GENERATOR.randint(1000, 9999):,}",
        "plain": lambda: str(GENERATOR.randint(1, 5)),
    }[make]
    return [draw() for _ in range(count)]


@pytest.mark.parametrize(
    ("make", "reading"),
    [
        *[(name, "decimal") for name in ("decimal", "small decimal", "German")],
        *[(name, "labels") for name in ("labels", "three labels")],
        *[(name, "thousands") for name in ("thousands", "English")],
        ("four digits", "unclear"),
        ("plain", "plain"),
    ],
)
def test_commas_are_read_by_the_whole_column(make: str, reading: str) -> None:
    for _ in range(20):
        assert reading_of_commas(some(make)) == reading


@pytest.mark.parametrize("words", ["no idea, sorry", "1 or 2, see above", "n/a", "2, perhaps"])
@pytest.mark.parametrize(
    ("make", "reading"), [("plain", "plain"), ("decimal", "decimal"), ("thousands", "thousands"), ("labels", "labels")]
)
def test_cells_of_words_do_not_say_what_commas_of_numbers_mean(make: str, reading: str, words: str) -> None:
    assert reading_of_commas([*some(make), words, words]) == reading


def test_numbers_are_read_by_their_decimal_sign() -> None:
    assert as_number("1,234") == 1234
    assert as_number("1,234.5") == 1234.5
    assert as_number("1.234,5", decimal=",") == 1234.5
    assert as_number("4,27") is None
    assert as_number("4,27", decimal=",") == 4.27
    assert as_number("4.27", decimal=",") is None


def test_lists_in_cells_of_text_are_lists() -> None:
    assert as_list('["a", "b"]') == as_list("['a', 'b']") == as_list("['a' 'b']") == ["a", "b"]
    assert as_list("[0 3 0]") == [0, 3, 0]
    assert as_list("[{[]: 1}]") is None  # Python cannot make it
    assert as_list("[*] not a list]") is as_list("[see note]") is as_list("plain") is None


@pytest.mark.parametrize(
    ("name", "tier"),
    [
        *[("label", 0), ("정답", 0), ("customer_label", 1), ("ToxicityLabel", 1), ("sentiment", 2), ("Catégorie", 2)],
        *[("customer_sentiment", 3), ("airline_sentiment_confidence", None), ("Class Name", 3), ("plot", None)],
    ],
)
def test_names_that_say_label(name: str, tier: int | None) -> None:
    assert label_tier(name) == tier


def test_names_that_say_something_else() -> None:
    assert [text_tier(name) for name in ("text", "review_body", "title", "product_title", "stars")] == [
        0,
        1,
        2,
        3,
        None,
    ]
    assert all(map(is_id_name, ("id", "tweet_id", "ProductId", "번호")))
    assert all(map(is_about, ("created_at", "label_confidence", "lang", "retweet_count")))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([f"2024-01-{i:02d}" for i in range(1, 29)], "id"),
        ([f"https://example.org/{i}" for i in range(30)], "id"),
        ([f"{i:032x}" for i in range(0, 3000, 100)], "id"),
        ([f"1.2345{i % 9}E+17" for i in range(30)], "id"),
        ([f"user{i}" for i in range(30)], "id"),
        ([f"word{i % 3}" for i in range(30)], "category"),
        ([f"a longer text number {i}" for i in range(30)], "text"),
        ([str(i % 5) for i in range(30)], "number"),
    ],
)
def test_ids_dates_and_links_are_no_texts(cells: list[str], kind: str) -> None:
    assert facts_of("x", cells).kind == kind

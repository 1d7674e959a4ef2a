"""Two spans marked in a text: the notation, and tokens that are cut around them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from finetune.errors import UserError
from finetune.models.tokenizers.load import add_tokens, load_tokenizer
from finetune.task_types.classification.marked import (
    SUBJECT_OBJECT,
    EntitySpan,
    distinct_markers,
    encode_marked,
    marker_fault,
    nearest_tokens,
    with_markers,
    without_markers,
    without_types,
)
from finetune.task_types.classification.texts import TextRow

E1 = ("<e1>", "<e2>")


@pytest.mark.parametrize(
    ("spans", "marked"),
    [
        ([(4, 7), (12, 15)], "the <subj>cat</subj> saw <obj>dog</obj>"),
        ([(12, 15), (4, 7)], "the <obj>cat</obj> saw <subj>dog</subj>"),
        ([(4, 15), (4, 7)], "the <subj><obj>cat</obj> saw dog</subj>"),
        ([(12, 15), (4, 15)], "the <obj>cat saw <subj>dog</subj></obj>"),
        ([(0, 3), (3, 4)], "<subj>the</subj><obj> </obj>cat saw dog"),
    ],
)
def test_spans_are_marked_in_any_order_and_within_each_other(spans: Sequence[tuple[int, int]], marked: str) -> None:
    found = with_markers("the cat saw dog", [EntitySpan(start=a, end=b) for a, b in spans], SUBJECT_OBJECT)
    assert found == marked
    assert without_markers(found, SUBJECT_OBJECT) == "the cat saw dog"


def test_a_marker_says_the_type_where_one_is_given() -> None:
    spans = [EntitySpan(start=0, end=3, type="PER"), EntitySpan(start=12, end=15)]
    text = with_markers("Ann met with Bo!"[:15], spans, SUBJECT_OBJECT)
    assert text == "<subj:PER>Ann</subj:PER> met with<obj> Bo</obj>"
    assert without_types(text, SUBJECT_OBJECT) == "<subj>Ann</subj> met with<obj> Bo</obj>"
    assert distinct_markers([text], SUBJECT_OBJECT) == ["</obj>", "</subj:PER>", "<obj>", "<subj:PER>"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("<e1>a</e1> b <e2>c</e2>", ""),
        ("<e2>a</e2> b <e1:PER>c</e1:PER>", ""),
        ("<e1>a</e1> b", "has no <e2>"),
        ("<e1>a</e1> <e1>b</e1> <e2>c</e2>", "has <e1> 2 times"),
        ("</e1>a<e1> b <e2>c</e2>", "has </e1> before <e1>"),
        ("<e1> </e1> b <e2>c</e2>", "has no text between <e1> and </e1>"),
        ("<e1>a <e2>c</e2>", "has no </e1>"),
    ],
)
def test_what_is_wrong_with_the_markers_of_a_text(text: str, fault: str) -> None:
    assert marker_fault(text, E1) == fault


def test_the_nearest_tokens_to_the_spans_are_kept() -> None:
    assert nearest_tokens(10, [4, 6], 10) == list(range(10))
    assert nearest_tokens(10, [4, 6], 5) == [3, 4, 5, 6, 7]
    assert nearest_tokens(10, [0, 2], 5) == [0, 1, 2, 3, 4]  # what one end does not need the other gets
    assert nearest_tokens(20, [2, 17], 6) == [1, 2, 3, 16, 17, 18]  # the middle is left out


def cut(folder: Path, text: str, most: int) -> list[str]:
    tokenizer = load_tokenizer(folder)
    add_tokens(tokenizer, distinct_markers([text], E1))
    (found,) = encode_marked([TextRow(id="", text=text)], tokenizer, most, E1)
    tokens = tokenizer.convert_ids_to_tokens(found.ids)
    assert len(tokens) <= most
    assert {"<e1>", "</e1>", "<e2>", "</e2>"} <= set(tokens)
    assert found.truncated == (len(tokenizer(text)["input_ids"]) > most)
    return tokens


def test_markers_are_tokens_and_are_never_cut_off(tiny_bert: Path) -> None:
    short = "the <e1>cat</e1> saw the <e2>dog</e2>"
    assert " ".join(cut(tiny_bert, short, 32)) == "[CLS] the <e1> cat </e1> saw the <e2> dog </e2> [SEP]"
    late = f"{'red ' * 40}{short}{' blue' * 40}"
    around = "red red the <e1> cat </e1> saw the <e2> dog </e2> blue blue blue"
    assert cut(tiny_bert, late, 16) == ["[CLS]", *around.split(), "[SEP]"]
    apart = f"<e2>dog</e2>{' red' * 60} <e1>cat</e1>"
    tokens = cut(tiny_bert, apart, 16)
    assert tokens.count("[SEP]") == 2  # one for the gap
    assert tokens[1:4] == ["<e2>", "dog", "</e2>"]
    assert tokens[-4:-1] == ["<e1>", "cat", "</e1>"]
    long = f"<e1>{' red' * 60}</e1> saw <e2>{' blue' * 60}</e2>"
    assert cut(tiny_bert, long, 16).count("[SEP]") == 3  # within both spans


def test_too_few_tokens_and_an_unknown_marker_are_told(tiny_bert: Path) -> None:
    with pytest.raises(UserError, match=r"max_length is 10: too few tokens.*max_length=14"):
        cut(tiny_bert, f"<e1>cat</e1>{' red' * 60} <e2>dog</e2>", 10)
    tokenizer = load_tokenizer(tiny_bert)
    add_tokens(tokenizer, ["<e1>", "</e1>", "<e2:A>", "</e2:A>"])
    texts = {"6": "<e1>cat</e1> <e2:A>dog</e2:A>", "7": "<e1>cat</e1> <e2:B>dog</e2:B>"}
    rows = [TextRow(id=name, text=text) for name, text in texts.items()]
    with pytest.raises(UserError, match=r"row '7' has the marker <e2:B>, and the model knows <e2:A>"):
        list(encode_marked(rows, tokenizer, 32, E1))

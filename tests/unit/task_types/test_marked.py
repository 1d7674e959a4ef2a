"""Two spans marked in a text: found, given or asked about in columns, marked in the text, and kept by the tokenizer."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.checked_files import write_jsonl
from support.own_data import rows_of

from finetune.commands.check.findings import findings_of
from finetune.errors import UserError
from finetune.models.tokenizers.load import add_tokens, load_tokenizer
from finetune.task_types.classification.marked import distinct_markers, encode_marked
from finetune.task_types.classification.texts import TextRow

TEXTS = ["Ann met Bo in Rome", "Bo saw Cleo in Paris", "Cleo wrote to Ann Lee"]
SPANS = [([0, 3], [8, 10]), ([0, 2], [7, 11]), ([0, 4], [14, 21])]
MARKED = [
    "<subj>Ann</subj> met <obj>Bo</obj> in Rome",
    "<subj>Bo</subj> saw <obj>Cleo</obj> in Paris",
    "<subj>Cleo</subj> wrote to <obj>Ann Lee</obj>",
]


def made(one: Sequence[Any], two: Sequence[Any]) -> list[dict[str, Any]]:
    columns = {"sentence": TEXTS, "e1": one, "e2": two, "label": ("knows", "saw")}
    return [{name: cells[n % len(cells)] for name, cells in columns.items()} for n in range(24)]


def objects(which: int, *, last: int = 0, **more: str) -> list[dict[str, Any]]:
    places = [pair[which] for pair in SPANS]
    return [
        {"word": text[a:b], "start_idx": a, "end_idx": b - last} | more
        for text, (a, b) in zip(TEXTS, places, strict=True)
    ]


def read(folder: Path, rows: Sequence[Mapping[str, Any]], **given: str) -> dict[int, str]:
    """The texts by the numbers of their rows."""
    file = write_jsonl(folder / "data.jsonl", [dict(row) for row in rows])
    return {int(row.id): row.text for row in rows_of(file, given)}


EXCLUSIVE = [one for one, _ in SPANS], [two for _, two in SPANS]
NAMES = ["Ann", "Bo", "Cleo"], ["Bo", "Cleo", "Ann Lee"]


@pytest.mark.parametrize(
    ("rows", "given", "expected"),
    [
        (made(objects(0, last=1), objects(1, last=1)), {}, MARKED),  # the words say where spans end
        (made(*EXCLUSIVE), {}, MARKED),  # a last character would be behind the text
        (made(*NAMES), {"spans": "none", "text": "sentence", "label": "label"}, TEXTS),
        ([{"text": f"<b>{TEXTS[n % 3]}</b> said <i>no</i>", "label": "ab"[n % 2]} for n in range(24)], {},
         [f"<b>{text}</b> said <i>no</i>" for text in TEXTS]),
        (made(objects(0, type="PER"), objects(1)), {}, [
            "<subj:PER>Ann</subj:PER> met <obj>Bo</obj> in Rome",
            "<subj:PER>Bo</subj:PER> saw <obj>Cleo</obj> in Paris",
            "<subj:PER>Cleo</subj:PER> wrote to <obj>Ann Lee</obj>",
        ]),
    ],
)  # fmt: skip
def test_spans_in_columns_or_in_texts_are_marked(rows: Any, given: Any, expected: list[str], tmp_path: Path) -> None:
    assert read(tmp_path, rows, **given) == {n + 1: expected[n % 3] for n in range(24)}


@pytest.mark.parametrize(
    ("span", "why"),
    [
        ({"word": "Ann", "start_idx": 0, "end_idx": 99}, "has a span from 0 to 99, and the text has 18 characters"),
        ({"word": "Bob", "start_idx": 0, "end_idx": 3}, "has 'Ann' at 0 to 3, and the word is 'Bob'"),
        ({"word": "Bo", "start_idx": 8, "end_idx": 10}, "has the same span twice"),
        ({"word": "met B", "start_idx": 4, "end_idx": 9}, "has two spans that cross"),
        ({"word": "Zoe"}, "has the name 'Zoe', which is not in the text"),
        ({"word": "n"}, "has the name 'n', which is 3 times in the text"),
        ({"word": "Ann", "start_idx": 0, "end_idx": 3, "type": "a b"}, "has a span of the type 'a b'"),
        (None, "has None in the column 'e1'; expected a span"),
    ],
)
def test_a_row_whose_spans_do_not_fit_its_text_is_left_out(span: Any, why: str, tmp_path: Path) -> None:
    rows = made(objects(0), objects(1))
    rows[3]["e1"] = span
    assert [*read(tmp_path, rows)] == [n for n in range(1, 25) if n != 4]
    found = [one for one in findings_of(str(tmp_path / "data.jsonl"), {}).findings if why in one.what]
    assert [one.rows for one in found] == [(4,)]


SHORT = "the <e1>cat</e1> saw the <e2>dog</e2>"


@pytest.mark.parametrize(
    ("text", "most", "tokens"),
    [
        (SHORT, 32, "[CLS] the <e1> cat </e1> saw the <e2> dog </e2> [SEP]"),
        (f"{'red ' * 40}{SHORT}{' blue' * 40}", 16,
         "[CLS] red red the <e1> cat </e1> saw the <e2> dog </e2> blue blue blue [SEP]"),
        (f"<e2>dog</e2>{' red' * 60} <e1>cat</e1>", 16,
         "[CLS] <e2> dog </e2> red red red red [SEP] red red red <e1> cat </e1> [SEP]"),  # [SEP] for the gap
    ],
)  # fmt: skip
def test_markers_are_tokens_and_are_never_cut_off(text: str, most: int, tokens: str, tiny_bert: Path) -> None:
    tokenizer = load_tokenizer(tiny_bert)
    add_tokens(tokenizer, distinct_markers([text], ("<e1>", "<e2>")))
    (found,) = encode_marked([TextRow(id="", text=text)], tokenizer, most, ("<e1>", "<e2>"))
    assert " ".join(tokenizer.convert_ids_to_tokens(found.ids)) == tokens
    assert found.truncated == (text != SHORT)


def test_too_few_tokens_and_an_unknown_marker_are_told(tiny_bert: Path) -> None:
    tokenizer = load_tokenizer(tiny_bert)
    add_tokens(tokenizer, ["<e1>", "</e1>", "<e2>", "</e2>"])
    for text, most, said in (
        (f"<e1>cat</e1>{' red' * 60} <e2>dog</e2>", 10, r"max_length is 10: too few tokens.*max_length=14"),
        ("<e1>cat</e1> <e2:B>dog</e2:B>", 32, r"row '7' has the marker <e2:B>, and the model knows <e2>"),
    ):
        with pytest.raises(UserError, match=said):
            list(encode_marked([TextRow(id="7", text=text)], tokenizer, most, ("<e1>", "<e2>")))

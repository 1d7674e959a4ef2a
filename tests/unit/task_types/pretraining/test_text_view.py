"""Documents in a report: which words are marked, with what, and by what documents are sorted."""

import math

import pytest

from finetune.data.documents import Document
from finetune.task_types.pretraining.chosen_words import chosen_words
from finetune.task_types.pretraining.objectives import OBJECTIVES
from finetune.task_types.pretraining.view import MARKED, TextView
from finetune.task_types.view import Line

KOREAN = Document("ko", ("영화 내용은 없고 다들 얘기뿐이네", "배우가 정말 좋았다"))


def line(document: Document, found: list[str], nats: list[float], **more: list[bool]) -> Line:
    label = OBJECTIVES["mlm-nsp" if "next" in more else "mlm"]().labels(document)
    answer = {"words": found, "nats": nats} | more
    return {"id": document.id, "lines": list(document.lines), "gold": label, "prediction": answer}


def test_words_are_marked_where_they_are_in_the_text() -> None:
    (word,) = chosen_words(KOREAN)
    for found, nats, said in (
        (word.text, -math.log(0.625), "62 %"),
        ("나무", -math.log(0.0031), "0.31 % → 나무"),
        ("\x07", 300.0, "<0.01 % → \N{REPLACEMENT CHARACTER}"),
        ("", 40.0, "not in the vocabulary"),
    ):
        (part,) = TextView(lines=[]).parts(line(KOREAN, [found], [nats]))
        assert "".join(one.text for one in part.segments) == "\n".join(KOREAN.lines)
        (marked,) = (one for one in part.segments if one.mark)
        assert (marked.text, marked.mark, marked.label) == (word.text, "right" if "62" in said else "wrong", said)


def test_a_long_document_is_shown_as_far_as_its_first_words() -> None:
    document = Document("long", tuple(f"sentence {number} of a long text" for number in range(400)))
    words = chosen_words(document)
    (part,) = TextView(lines=[]).parts(line(document, ["a"] * len(words), [1.0] * len(words)))
    marked = [one for one in part.segments if one.mark]
    assert [one.text for one in marked] == [word.text for word in words[:MARKED]]
    assert "characters more" in part.segments[-1].text and sum(len(one.text) for one in part.segments) < 3_000


def test_words_that_another_version_chose_are_not_marked() -> None:
    given = line(KOREAN, ["나무"], [1.0])
    given["gold"]["words"] = ["영화"]
    assert not any(one.mark for part in TextView(lines=[]).parts(given) for one in part.segments)


def test_the_worst_document_is_first_and_none_is_an_error() -> None:
    bad, good = (line(KOREAN, ["나무"], [nats], next=[right]) for nats, right in ((9.5, False), (0.5, True)))
    good["gold"]["next"] = bad["gold"]["next"] = [True]
    empty = {"id": "none", "lines": ["..."]} | {key: {"words": [], "nats": []} for key in ("gold", "prediction")}
    view = TextView(lines=[good, bad, empty])
    assert view.certainty().tolist() == view.scores().tolist() == [0.5, 9.5, 0.0]
    assert not view.wrong().any() and not view.bounded and not view.annotated
    assert view.facts(bad) == ["9.50 nats per word", "0 of 1 word right", "0 of 1 pair right"]
    assert view.facts(good)[-1] == "1 of 1 pair right"
    assert view.facts(empty) == ["0 of 0 words right"]
    assert view.verdict(bad) == ("", "")


@pytest.mark.parametrize("lines", [[], ["한", ""]])
def test_a_document_without_chosen_words_is_plain(lines: list[str]) -> None:
    (part,) = TextView(lines=[]).parts({"lines": lines, "gold": {"words": []}, "prediction": {"words": [], "nats": []}})
    assert not any(one.mark for one in part.segments)

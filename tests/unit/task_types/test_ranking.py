"""Rankings: which files are some, what is refused, negatives by BM25, losses by hand, and scores by query."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.checked_files import write_csv as write_cells
from support.toys import ranking_task

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.models.feature import Feature, label_counts
from finetune.task_types.columns import own_data
from finetune.task_types.first_rows import describe_rows
from finetune.task_types.options import resolved
from finetune.task_types.own_data import own_task
from finetune.task_types.parts import Answer
from finetune.task_types.ranking.bm25 import K1, B, Bm25, terms_of
from finetune.task_types.ranking.head import RankingHead
from finetune.task_types.ranking.queries import _shares, by_query, query_feature, query_of, some_passages
from finetune.task_types.ranking.task import RankingRow
from finetune.task_types.resampling import margin, resampled_metrics

Cells = list[dict[str, Any]]


def write_csv(path: Path, given: Cells) -> Path:
    return write_cells(path, [[*given[0]], *([*row.values()] for row in given)])


def rows(query: str, passage: str, label: str, *, queries: int = 20, each: int = 4, grade: Any = None) -> Cells:
    """Queries with passages, of which the first is relevant, or as `grade` says."""
    grade = grade or (lambda query, place: int(place == query % each))
    return [
        {query: f"where is the cat {i}", passage: f"the animal {i} of {k} sat", label: grade(i, k)}
        for i in range(queries)
        for k in range(each)
    ]


RANKINGS = {
    "query": rows("query", "passage", "label"),
    "long ones": rows("question", "document", "relevance", queries=4, each=30),
    "Korean": rows("질문", "문서", "라벨"),
    "Korean grades": rows("질의", "문단", "관련도", grade=lambda i, k: k),
    "other names": rows("search_term", "product_title", "relevance"),
    "some without a relevant one": rows("query", "doc", "label", grade=lambda i, k: int(k == 1 and i % 3 > 0)),
    "ids": [{"query_id": i // 4, "doc_id": i, **row} for i, row in enumerate(rows("query", "doc", "rel"))],
}
OTHERS = {
    "one passage a query": rows("query", "passage", "label", queries=80, each=1, grade=lambda i, k: i % 2),
    "pairs of right and wrong": rows("question", "passage", "label", queries=40, each=2),
    "three answers, graded": rows("question", "answer", "score", grade=lambda i, k: (i + k) % 6),
    "the same questions of each text": [
        {"question": f"is it about cats {i}?", "document": f"it sat on the mat {k}", "label": int((i + k) % 3 == 0)}
        for i in range(6)
        for k in range(50)
    ],
    "answers with scores": rows("question", "passage", "score", each=10, grade=lambda i, k: max(0, k - 7)),
    "aspects": rows("query", "text", "label", queries=4, each=20, grade=lambda i, k: int(k % 5 == 0)),
    "inference": rows("premise", "hypothesis", "label", each=3, grade=lambda i, k: k),
    "paraphrases": rows("sentence1", "sentence2", "label"),
    "names of labels": rows("query", "passage", "label", grade=lambda i, k: ("yes", "no")[k % 2]),
    "mostly right": rows("query", "passage", "label", grade=lambda i, k: int(k > 0)),
}


def shape_of(path: Path) -> str:
    """The type that is guessed; `asks` where the user is asked."""
    try:
        read = own_data(own_task(path.as_posix(), {}))
    except UserError:
        return "asks"
    assert read is not None
    return read.layout.shape


@pytest.mark.parametrize("name", RANKINGS)
def test_rankings_are_recognised(name: str, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "rows.csv", RANKINGS[name])
    assert shape_of(path) == "ranking"
    read = own_data(own_task(str(path), {}))
    assert read is not None
    lines = [*describe_rows(read.layout, read.table(path))]
    assert any(line.startswith("ranking: ") and "shape=classification" in line for line in lines)
    back = own_data(own_task(str(path), {"shape": "classification", "text": ",".join(read.layout.text)}))
    assert back is not None
    assert back.layout.shape == "classification"


@pytest.mark.parametrize("name", OTHERS)
def test_other_pairs_are_not(name: str, tmp_path: Path) -> None:
    assert shape_of(write_csv(tmp_path / "rows.csv", OTHERS[name])) != "ranking"


@pytest.mark.parametrize("name", ["paraphrases", "the same questions of each text"])
def test_what_could_be_one_says_how_and_that_works(name: str, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "rows.csv", OTHERS[name])
    read = own_data(own_task(str(path), {"text": "sentence1,sentence2"} if name == "paraphrases" else {}))
    assert read is not None
    (line,) = (line for line in describe_rows(read.layout, read.table(path)) if "not a ranking" in line)
    settings = dict(one.split("=", 1) for one in line.rpartition("): ")[2].split())
    assert own_data(own_task(str(path), settings)).layout.shape == "ranking"  # type: ignore[union-attr]


def refused(path: Path, **options: Any) -> str:
    """The error of loading the training rows."""
    with pytest.raises(UserError) as caught:
        resolved(str(path), {"shape": "ranking", **options})[1].load(Source(), "train")
    return f"{caught.value.what}. {caught.value.way_out}"


def test_what_cannot_be_ranked_is_refused(tmp_path: Path) -> None:
    def file(**given: Any) -> Path:
        return write_csv(tmp_path / "rows.csv", rows("query", "passage", "label", **given))

    assert "has a relevant passage" in refused(file(grade=lambda i, k: 0))
    assert "corpus=FILE" in refused(file(grade=lambda i, k: 1))
    assert "each query has one passage" in refused(file(each=1, grade=lambda i, k: i % 2))
    assert "only one query" in refused(file(queries=1, each=30))
    assert "'good', which is not a number" in refused(file(grade=lambda i, k: "good"))
    assert "-1" in refused(file(grade=lambda i, k: -1))
    assert "corpus=FILE" in refused(file(), negatives=3)
    assert "loss=pairwise" in refused(file(), passages=3)
    assert "a second text" in refused(write_csv(tmp_path / "one.csv", [{"text": "a b c", "label": 1}] * 20))


def test_rows_with_an_empty_query_are_left_out(tmp_path: Path) -> None:
    given = rows("query", "passage", "label")
    given[0]["query"], given[5]["passage"] = "", " "
    loaded = own_task(str(write_csv(tmp_path / "rows.csv", given)), {"shape": "ranking"}).load(Source(), "train")
    assert any("2 rows that cannot be used" in note and "'query'" in note for note in loaded.notes)


def test_dev_has_other_queries(tmp_path: Path) -> None:
    given = rows("query", "passage", "label")
    for row in given[::2]:
        row["query"] = row["query"].upper()  # the same query
    task = own_task(str(write_csv(tmp_path / "rows.csv", given)), {})
    train, dev = ({query_of(row) for row in task.load(Source(), split).rows} for split in ("train", "dev"))
    assert train
    assert dev
    assert not train & dev


def test_dev_has_queries_with_a_relevant_passage(tmp_path: Path) -> None:
    given = rows("query", "passage", "relevance", queries=24, grade=lambda i, k: int(k == 0 and i < 5))
    task = own_task(str(write_csv(tmp_path / "rows.csv", given)), {"shape": "ranking"})
    assert any(row.gold for row in task.load(Source(), "dev").rows)


def test_shares_of_a_huge_grade_are_numbers() -> None:
    assert _shares([0.0, 1e300, 1e300]).tolist() == [[0.0, 0.5, 0.5]]


def test_negatives_are_those_of_bm25(tmp_path: Path) -> None:
    given = rows("query", "passage", "label", each=1, grade=lambda i, k: 1)
    path = write_csv(tmp_path / "rows.csv", given)
    texts = [*(row["passage"] for row in given), *(f"where is the cat {i} ?" for i in range(20)), "zebra"]
    corpus = write_csv(tmp_path / "corpus.csv", [{"text": text} for text in texts])
    task = resolved(str(path), {"shape": "ranking", "corpus": str(corpus), "negatives": 3})[1]
    for split in ("train", "dev"):
        loaded = task.load(Source(), split)
        for some in by_query(loaded.rows):
            relevant, *others = (loaded.rows[index] for index in some)
            assert (relevant.gold, [one.gold for one in others]) == (1, [0, 0, 0])
            number = relevant.text.split()[-1]
            assert others[0].pair == f"where is the cat {number} ?"
            assert relevant.pair not in {one.pair for one in others}
        assert loaded.added == 3 * len(by_query(loaded.rows))
    bad = write_csv(tmp_path / "bad.csv", [{"a": "one two", "b": "three four"}] * 3)
    assert "has no column 'passage'" in refused(path, corpus=str(bad))
    assert "nothing.csv" in refused(path, corpus=str(tmp_path / "nothing.csv"))


def test_bm25_is_the_formula() -> None:
    passages = ["red cat", "red red dog house", "blue"]
    index, mean = Bm25(passages), 7 / 3

    def term(df: int, tf: int, length: int) -> float:
        idf = math.log(1 + (3 - df + 0.5) / (df + 0.5))
        return idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / mean))

    found = index.scores(["Red cat?"] * 3, [0, 1, 2])
    assert found == pytest.approx([term(2, 1, 2) + term(1, 1, 2), term(2, 2, 4), 0])
    assert [*index.ranked(["red cat", "zebra"], 5)] == [[0, 1], []]
    assert terms_of("고양이는 Cat 집") == ["고양", "양이", "이는", "cat", "집"]
    assert Bm25(["?", "!"]).scores(["?"], [0]).tolist() == [0]


def head(learns: Any) -> RankingHead:
    made = RankingHead.__new__(RankingHead)
    torch.nn.Module.__init__(made)
    made.learns = learns
    return made


def test_losses_are_those_of_the_papers() -> None:
    grades, scores = [[2.0, 0.0, 1.0], [0.0, 1.0]], [[0.3, -0.2, 0.9], [1.5, 0.1]]
    logits = torch.tensor([[0.3, -0.2, 0.9], [1.5, 0.1, -torch.inf]], requires_grad=True)
    empty = Feature(row=0, input_ids=[1])

    def found(learns: Any) -> tuple[float, int]:
        features = [query_feature(0, [empty] * len(one), one, learns) for one in grades]
        loss = head(learns).loss(logits, collate(features, pad_id=0).labels["label"])
        loss.backward()
        assert logits.grad is not None
        assert logits.grad.isfinite().all()
        return float(loss.detach()), label_counts(features)["label"]

    better = [(0.3, -0.2), (0.3, 0.9), (0.9, -0.2), (0.1, 1.5)]
    assert found("pairwise") == (pytest.approx(sum(math.log1p(math.exp(b - a)) for a, b in better)), 4)
    chances = [np.exp(one) / np.exp(one).sum() for one in scores]
    listwise = -(2 / 3 * np.log(chances[0][0]) + 1 / 3 * np.log(chances[0][2]) + np.log(chances[1][1]))
    assert found("listwise") == (pytest.approx(listwise), 2)
    labels = torch.tensor([1.0, 0.0])
    row = head("row").loss(torch.tensor([[0.3], [-0.2]]), labels)
    assert float(row) == pytest.approx(math.log1p(math.exp(-0.3)) + math.log1p(math.exp(-0.2)))


def test_some_passages_are_drawn_of_a_long_ranking() -> None:
    grades = [1.0, *[0.0] * 30]
    query = query_feature(0, [Feature(row=0, input_ids=[i]) for i in range(31)], grades, "listwise")
    drawn = [some_passages(query, 5, np.random.default_rng(seed), "listwise") for seed in (1, 2)]
    assert all(len(one.choices) == 5 and one.note.tolist() == [1, 0, 0, 0, 0] for one in drawn)
    assert [one.input_ids for one in drawn[0].choices] != [one.input_ids for one in drawn[1].choices]
    assert some_passages(query, 31, np.random.default_rng(0), "listwise") is query


def test_scores_are_means_over_queries_with_a_relevant_passage() -> None:
    given = [RankingRow(id=str(i), text="abc"[i // 3], pair=str(i), gold=float(i in (0, 4))) for i in range(9)]
    task = ranking_task()
    answers = [Answer(value=float(-i)) for i in range(9)]
    scores = task.score(answers, given)
    assert scores["mrr@10"] == pytest.approx((1 + 1 / 2) / 2)
    (note,) = task.score_notes(answers, given)
    assert "1 of 3 queries" in note
    assert all(metric.size == 2 for metric in resampled_metrics(task, answers, given).values())
    found = margin(task, given, answers, {"bm25": answers[::-1]})
    assert found.interval is not None
    shuffled = np.random.default_rng(0).permutation(9).tolist()
    assert task.score([answers[i] for i in shuffled], [given[i] for i in shuffled]) == scores


def test_a_constant_score_is_worth_chance() -> None:
    rows_ = ranking_task().load(Source(), "train").rows
    found = ranking_task().score([Answer(value=1.0)] * len(rows_), rows_)
    assert found["mrr@10"] == pytest.approx(25 / 48)

"""Rankings: which files are some, what is refused, BM25, losses by hand, and scores by query."""

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
from finetune.models.tokenizers.load import read_tokenizer
from finetune.task_types.columns import own_data
from finetune.task_types.options import resolved
from finetune.task_types.own_data import own_task
from finetune.task_types.parts import Answer
from finetune.task_types.plugins.ranking import K1, B, RankingRow, bm25_index, terms_of
from finetune.task_types.plugins.ranking_head import RankingHead
from finetune.task_types.prepare import load_splits
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
    back = own_data(own_task(str(path), {"shape": "classification", "text": ",".join(read.layout.text)}))
    assert back is not None
    assert back.layout.shape == "classification"


@pytest.mark.parametrize("name", OTHERS)
def test_other_pairs_are_not(name: str, tmp_path: Path) -> None:
    assert shape_of(write_csv(tmp_path / "rows.csv", OTHERS[name])) != "ranking"


def refused(path: Path, **options: Any) -> str:
    """The error of loading the rows."""
    with pytest.raises(UserError) as caught:
        load_splits(resolved(str(path), {"shape": "ranking", **options})[1], Source())
    return f"{caught.value.what}. {caught.value.way_out}"


def test_what_cannot_be_ranked_is_refused(tmp_path: Path) -> None:
    def file(**given: Any) -> Path:
        return write_csv(tmp_path / "rows.csv", rows("query", "passage", "label", **given))

    for unranked in ({"grade": lambda i, k: 0}, {"grade": lambda i, k: 1}, {"each": 1, "grade": lambda i, k: i % 2}):
        assert "there is nothing to rank" in refused(file(**unranked))
    assert "'good', which is not a number" in refused(file(grade=lambda i, k: "good"))
    assert "-1" in refused(file(grade=lambda i, k: -1))
    assert "'loss=pairwise' was taken out" in refused(file(), loss="pairwise")
    assert "text=QUERY,PASSAGE" in refused(write_csv(tmp_path / "one.csv", [{"text": "a b c", "label": 1}] * 20))


def test_dev_has_other_queries(tmp_path: Path) -> None:
    given = rows("query", "passage", "label")
    for row in given[::2]:
        row["query"] = row["query"].upper()  # the same query
    task = own_task(str(write_csv(tmp_path / "rows.csv", given)), {})
    train, dev = ({row.query for row in task.load(Source(), split).rows} for split in ("train", "dev"))
    assert train
    assert dev
    assert not train & dev


def test_dev_has_queries_with_a_relevant_passage(tmp_path: Path) -> None:
    given = rows("query", "passage", "relevance", queries=24, grade=lambda i, k: int(k == 0 and i < 5))
    task = own_task(str(write_csv(tmp_path / "rows.csv", given)), {"shape": "ranking"})
    assert any(row.gold for row in task.load(Source(), "dev").rows)


def test_bm25_is_the_formula() -> None:
    passages, mean = ["red cat", "red red dog house", "blue"], 7 / 3

    def term(df: int, tf: int, length: int) -> float:
        idf = math.log(1 + (3 - df + 0.5) / (df + 0.5))
        return idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / mean))

    counter, weights = bm25_index(passages)
    scores = (counter.transform(["Red cat?"]) @ weights.T).toarray()[0]
    assert scores == pytest.approx([term(2, 1, 2) + term(1, 1, 2), term(2, 2, 4), 0])
    assert terms_of("고양이는 Cat 집") == ["고양", "양이", "이는", "cat", "집"]
    wordless = [RankingRow(id=str(grade), text="?", pair="!", gold=float(grade)) for grade in (0, 1)]
    assert [answer.value for answer in ranking_task().baselines([], wordless)["bm25"]] == [0, 0]


def head(learns: Any) -> RankingHead:
    made = RankingHead.__new__(RankingHead)
    torch.nn.Module.__init__(made)
    made.learns = learns
    return made


def test_losses_are_those_of_the_papers(tiny_bert: Path) -> None:
    grades, scores = [[2.0, 0.0, 1.0], [0.0, 1e300]], [[0.3, -0.2, 0.9], [1.5, 0.1]]
    asked = [
        RankingRow(id="", text=f"query {number}", pair=f"passage {place}", gold=grade)
        for number, some in enumerate([*grades, [1.0, 1.0]])
        for place, grade in enumerate(some)
    ]
    features = ranking_task("listwise").train_features(asked, read_tokenizer(tiny_bert), 32, print)
    assert features is not None and len(features) == 2  # the query of equal passages is left out
    logits = torch.tensor([[0.3, -0.2, 0.9], [1.5, 0.1, -torch.inf]], requires_grad=True)
    loss = head("listwise").loss(logits, collate(features, pad_id=0).labels["label"])
    loss.backward()
    assert logits.grad is not None and logits.grad.isfinite().all()
    chances = [np.exp(some) / np.exp(some).sum() for some in scores]
    listwise = -(2 / 3 * np.log(chances[0][0]) + 1 / 3 * np.log(chances[0][2]) + np.log(chances[1][1]))
    assert float(loss.detach()) == pytest.approx(listwise)
    row = head("row").loss(torch.tensor([[0.3], [-0.2]]), torch.tensor([1.0, 0.0]))
    assert float(row) == pytest.approx(math.log1p(math.exp(-0.3)) + math.log1p(math.exp(-0.2)))


def test_scores_are_means_over_queries_with_a_relevant_passage() -> None:
    given = [RankingRow(id=str(i), text="abc"[i // 3], pair=str(i), gold=float(i in (0, 4))) for i in range(9)]
    task = ranking_task()
    answers = [Answer(value=float(-i)) for i in range(9)]
    scores = task.score(answers, given)
    assert scores["mrr@10"] == pytest.approx((1 + 1 / 2) / 2)
    assert all(metric.size == 2 for metric in resampled_metrics(task, answers, given).values())
    found = margin(task, given, answers, {"bm25": answers[::-1]})
    assert found.interval is not None
    shuffled = np.random.default_rng(0).permutation(9).tolist()
    assert task.score([answers[i] for i in shuffled], [given[i] for i in shuffled]) == scores

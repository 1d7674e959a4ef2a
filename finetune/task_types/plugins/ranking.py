"""The passages of a query in order, by a score for each pair of both: a cross-encoder (Nogueira and Cho 2019).

A row is a query, a passage and its relevance; the rows of a query need not follow each other.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from finetune.data import Issue, Rows, Source, as_number, as_text, grouped, is_missing, same_text, shown
from finetune.errors import UserError
from finetune.metrics import RANKING_METRICS, Counted, Metric, mean_counted, ranking_scores
from finetune.models.feature import Feature
from finetune.task_types import (
    Answer,
    BatchMaker,
    Evidence,
    Layout,
    Line,
    NoRow,
    PooledTask,
    Predictions,
    Task,
    TextRow,
    TextType,
    option,
    unusable,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.models.head import Head

LOSS = "`row` learns each label, `listwise` the order of a query's passages, which are in one batch"
K1, B = 1.2, 0.75  # of BM25, as in Lucene
WORD = re.compile(r"\w+")
NO_SPACES = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # kana, Chinese characters, Hangul

# Words in names of columns, and what a table has that is recognised by them.
QUERY = {"query", "question", "search", "질문", "질의", "검색어", "쿼리"}
PASSAGE = {"passage", "document", "doc", "paragraph", "context", "문서", "지문", "문단", "단락", "본문"}
RELEVANCE = {"relevance", "relevant", "rel", "qrel", "관련도", "관련성", "적합도", "관련"}
LABEL = {"label", "labels", "라벨", "레이블"}
FEWEST_QUERIES = 3  # with relevant passages and others
FEWEST_PASSAGES = 3  # of such a query, on average: pairs of one right and one wrong text are common in other data
HIGHEST_GRADE = 10

NO_GRADE = unusable(
    "no-grade",
    "the relevance of a passage is not a number from 0",
    "Write 0 for one that is not relevant, 1 or more for others",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingRow(TextRow):
    """A query (`text`), a passage (`pair`), and how relevant it is (`gold`): 0 is not, None is unknown."""

    gold: float | None = None

    @property
    def query(self) -> str:
        """What rows of the same query share."""
        return same_text(self.text)


@dataclass(frozen=True, kw_only=True)
class RankingTask(PooledTask, BatchMaker):
    """Scores each passage for its query. With `loss=listwise` a batch is of whole queries; `highest` is the highest
    grade of the training rows.
    """

    metrics: tuple[Metric, ...] = RANKING_METRICS
    loss: Literal["row", "listwise"] = option("row", LOSS)
    highest: float = 1.0
    row_type = RankingRow
    scored_by = "text"

    def load(self, source: Source, split: str) -> Rows:
        """The rows of a split. Raises UserError that names the row for an empty text or a wrong label, and for rows in
        which nothing can be ranked.
        """
        loaded = super().load(source, split)
        queries = [{bool(loaded.rows[index].gold) for index in indexes} for indexes in by_query(loaded.rows)]
        if any(row.gold is None for row in loaded.rows) or not queries:
            return loaded
        if not any(len(relevant) == 2 for relevant in queries):
            raise UserError(
                f"{loaded.origin}: no query has both a relevant passage, whose label is above 0, and another one: "
                "there is nothing to rank",
                "Add passages that are not relevant, whose label is 0; or name the labels: label=COLUMN",
            )
        none = queries.count({False})
        left = f"{none:,} of {len(queries):,} queries have no relevant passage: left out of the scores"
        return replace(loaded, notes=(*loaded.notes, left)) if none else loaded

    def fit(self, train: Sequence[RankingRow]) -> "RankingTask":
        """The task with the highest grade."""
        return replace(self, highest=max((row.gold or 0.0 for row in train), default=1.0) or 1.0)

    def fault(self, row: RankingRow) -> str:
        if not row.text.strip() or not (row.pair or "").strip():
            return f"has an empty {'passage' if row.text.strip() else 'query'}"
        if row.gold is None or (self.fits(row.gold, row) and row.gold >= 0):
            return ""
        return f"has the label {row.gold!r}; expected a number from 0 (not relevant)"

    def fits(self, value: Any, row: RankingRow) -> bool:
        return isinstance(value, int | float) and math.isfinite(value)

    def row(self, text: str, pair: str) -> RankingRow:  # type: ignore[override]
        """A query and a passage."""
        return RankingRow(id="", text=text, pair=pair)

    def head(self, backbone: "Backbone") -> "Head":
        from finetune.task_types.plugins.ranking_head import RankingHead

        return RankingHead(backbone, learns=self.loss)

    def label_for_loss(self, row: RankingRow) -> float | None:
        """The share of the highest grade; None where whole queries are learned."""
        return None if row.gold is None or self.loss == "listwise" else min(1.0, row.gold / self.highest)

    def sums(self, answers: Sequence[Answer], rows: Sequence[RankingRow]) -> dict[str, Counted]:
        """Means over the queries with a relevant passage, which are resampled in place of rows; none without any."""
        queries = [indexes for indexes in by_query(rows) if any(rows[index].gold for index in indexes)]
        scores = [
            ranking_scores([rows[i].gold or 0 for i in indexes], [answers[i].value for i in indexes])
            for indexes in queries
        ]
        return {name: mean_counted([of[name] for of in scores]) for name in self.metric_names if scores}

    def baselines(self, train: Sequence[RankingRow], rows: Sequence[RankingRow]) -> dict[str, list[Answer]]:
        """One score for all, which is worth a random order, and BM25's."""
        chance = [Answer(value=0.0)] * len(rows)
        places = {text: place for place, text in enumerate(dict.fromkeys(str(row.pair) for row in (*train, *rows)))}
        try:
            counter, weights = bm25_index(list(places))
        except ValueError:  # no passage has a word
            return {"random-order": chance, "bm25": chance}
        passages = weights[[places[str(row.pair)] for row in rows]]
        scores = counter.transform([row.text for row in rows]).multiply(passages).sum(1)
        return {"random-order": chance, "bm25": [Answer(value=float(score)) for score in np.asarray(scores).ravel()]}

    def train_features(
        self, rows: Sequence[RankingRow], tokenizer: "PreTrainedTokenizerBase", max_length: int, watch: Any
    ) -> list[Feature] | None:
        """A feature for each query whose passages are not all equally relevant; None for a loss of rows."""
        if self.loss == "row":
            return None
        passages, features = self.encode(rows, tokenizer, max_length), list[Feature]()
        for indexes in by_query(rows):
            grades = np.array([rows[i].gold for i in indexes], float)
            if len({*grades}) > 1:
                shares = (grades / grades.max() / (grades / grades.max()).sum())[None].astype(np.float32)
                choices = [passages[i] for i in indexes]
                truncated = any(passage.truncated for passage in choices)
                features.append(Feature(row=indexes[0], choices=choices, label=shares, truncated=truncated))
        return features


def by_query(rows: Sequence[RankingRow]) -> list[list[int]]:
    """The indexes of each query's rows, the queries in the order in which they come first."""
    return grouped(row.query for row in rows)


def terms_of(text: str) -> list[str]:
    """The words in lower case; of scripts whose words have endings or no spaces, each two characters (Hangul too)."""
    terms: list[str] = []
    for word in WORD.findall(text.lower()):
        if NO_SPACES.search(word) and len(word) > 2:
            terms += (word[place : place + 2] for place in range(len(word) - 1))
        else:
            terms.append(word)
    return terms


def bm25_index(passages: Sequence[str]) -> tuple[Any, Any]:
    """(what counts the terms of queries, the weight of each term in each passage, `(passages, terms)`): a passage's
    score is the sum over a query's terms (Robertson and Zaragoza 2009, section 3) of
    idf * tf * (k1 + 1) / (tf + k1 * norm), where norm = 1 - b + b * length / mean length, and
    idf = log(1 + (n - df + 0.5) / (df + 0.5)).
    """
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(analyzer=terms_of)
    counts = counter.fit_transform(passages).astype(float)
    lengths = np.asarray(counts.sum(1)).ravel()
    norm = 1 - B + B * lengths / lengths.mean()
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = np.log(1 + (len(passages) - frequency + 0.5) / (frequency + 0.5))
    rows = np.repeat(np.arange(len(passages)), np.diff(counts.indptr))
    counts.data = idf[counts.indices] * counts.data * (K1 + 1) / (counts.data + K1 * norm[rows])
    return counter, counts


class Ranking(TextType):
    """Rows of one query are its passages, each with a grade of relevance."""

    name = "ranking"
    task_class = RankingTask
    needs_both_texts = True
    issues: ClassVar[tuple[Issue, ...]] = (NO_GRADE,)

    def find(self, evidence: Evidence) -> Layout | None:
        """The columns whose names say so, where the groups of rows do too, or the user asked for this type.

        Raises UserError where the user asked for it and there are not two texts and a label.
        """
        asked, chosen, kinds = evidence.shape is not None, evidence.chosen, ("text", "category", "id")
        names = [name for name in evidence.facts if "id" not in _words(name)]
        label = chosen.get("label") or _called(RELEVANCE, names) or _called(LABEL, names)
        texts = [n for n in chosen.get("text", names) if n not in label and evidence.facts[n].kind in kinds]
        query = _called(QUERY, texts)
        others = [name for name in texts if name not in query]
        called = query + (_called(PASSAGE, others) or (others if _called(RELEVANCE, label) else []))
        text = chosen.get("text", called) if asked else called
        if len(text) == 2 and len(label) == 1 and (asked or (query and _is_ranking(evidence.columns, *text, *label))):
            reasons = {"shape": "given" if asked else "queries with relevant passages and others"}
            return Layout(shape=self.name, text=tuple(text), label=tuple(label), reasons=reasons)
        if asked:
            what = f"needs a query, a passage and a label, and has {', '.join((*text, *label)) or 'none'}"
            raise UserError(
                f"{evidence.file}: shape={self.name} {what}", "Name them: text=QUERY,PASSAGE label=RELEVANCE"
            )
        return None

    def gold(self, layout: Layout, values: Mapping[str, Any]) -> float | None:
        """The grade. Raises NoRow for one that is not a number from 0."""
        cell = layout.label_in(values)
        grade = as_number(cell, decimal=layout.decimal)
        if not is_missing(cell) and (grade is None or grade < 0):
            raise NoRow(f"has the label {shown(cell)}, which is not a number from 0 (not relevant)", NO_GRADE)
        return grade

    def unit(self, row: Any) -> str:
        return str(row.query)

    def compared(self, row: Any) -> str:
        return str(row.query)

    def strata(self, rows: Sequence[Any]) -> Sequence[bool]:
        """Whether the row's query has a relevant passage."""
        relevant = {row.query for row in rows if row.gold}
        return [row.query in relevant for row in rows]

    def task(self, layout: Layout, *, name: str, read: Any = None) -> RankingTask:
        return RankingTask(name=name, read=read)

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """A row's score is the share of its query's more or less relevant passages that it is in the right order with;
        pairs of equal scores count half.
        """
        score = np.ones(len(lines))
        for rows in grouped(same_text(line["text"]) for line in lines):
            labels, predictions = (
                np.array([lines[row][side] for row in rows], float) for side in ("gold", "prediction")
            )
            wanted, got = (np.sign(values[:, None] - values[None]) for values in (labels, predictions))
            pairs = np.abs(wanted).sum(1)
            in_order = (np.abs(wanted) * (1 + wanted * got) / 2).sum(1)
            score[rows] = np.divide(in_order, pairs, out=np.ones(len(rows)), where=pairs > 0)
        return Predictions(
            lines=lines, texts=[{"query": line["text"], "passage": line["pair"]} for line in lines], score=score,
            right=score == 1, says=lambda _, value: f"{value:.4g}", sorted_by="share of pairs out of order",
        )  # fmt: skip


def _words(name: str) -> set[str]:
    return {*re.split(r"[\W_]+", name.lower())}


def _called(words: Collection[str], names: Sequence[str]) -> list[str]:
    return [name for name in names if not _words(name).isdisjoint(words)]


def _is_ranking(columns: Mapping[str, Sequence[Any]], query: str, passage: str, label: str) -> bool:
    """Whether labels are whole grades, and most rows are of queries with relevant passages and others; unless the label
    says relevance, the relevant ones must be fewer, and most passages of one query.
    """
    grades = [as_number(cell) for cell in columns[label]]
    if any(grade not in range(HIGHEST_GRADE + 1) for grade in grades):
        return False
    queries = [
        [grades[index] or 0 for index in rows] for rows in grouped(same_text(as_text(t)) for t in columns[query])
    ]
    mixed = [query_grades for query_grades in queries if min(query_grades) == 0 < max(query_grades)]
    rows = sum(map(len, mixed))
    if len(mixed) < FEWEST_QUERIES or 2 * rows < len(grades) or rows < FEWEST_PASSAGES * len(mixed):
        return False
    relevant = sum(grade > 0 for query_grades in mixed for grade in query_grades)
    few = 2 * relevant <= rows and 2 * len({*map(as_text, columns[passage])}) > len(grades)
    return few or bool(_called(RELEVANCE, [label]))

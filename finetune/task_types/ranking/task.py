"""The passages of a query in order, by a score for each pair of both: a cross-encoder (Nogueira and Cho 2019)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveInt

from finetune.data.messages import so_many
from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.ranking import RANKING_METRICS, ranking_scores
from finetune.metrics.sums import Counted, mean_counted
from finetune.models.feature import Feature
from finetune.task_types.classification.texts import PooledTask, TextRow
from finetune.task_types.declared_options import option
from finetune.task_types.parts import Answer, BatchMaker
from finetune.task_types.ranking.bm25 import Bm25
from finetune.task_types.ranking.negatives import corpus_passages, with_negatives
from finetune.task_types.ranking.queries import by_query, query_feature, some_passages

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.runs.events import Watcher
    from finetune.task_types.ranking.head import RankingHead

LOSS = "`row` learns each label, `pairwise` and `listwise` the order of a query's passages, which are in one batch"
CORPUS = "a file of passages, of which BM25 adds some to each query as not relevant"
PASSAGES = "of a query with more passages so many are drawn for each update, with `pairwise` and `listwise`"
NEGATIVES = "how many passages of `corpus` are added to each query"

NEGATIVES_A_QUERY, PASSAGES_A_QUERY = 10, 16  # the defaults


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingRow(TextRow):
    """A query (`text`), a passage (`pair`), and how relevant it is (`gold`): 0 is not, None is unknown."""

    gold: float | None = None


@dataclass(frozen=True, kw_only=True)
class RankingTask(PooledTask, BatchMaker):
    """Ranks the passages of each query; rows of one query need not follow each other.

    With `corpus` each query gets passages of that file which BM25 ranks highest, as not relevant, but for those that it
    has. `loss` is what is learned (`RankingHead.loss`); with `pairwise` and `listwise` a batch is of whole queries.
    `passage` is the name of the passage's column, and `highest` the highest grade of the training rows.
    """

    metrics: tuple[Metric, ...] = RANKING_METRICS
    loss: Literal["row", "pairwise", "listwise"] = option("row", LOSS)
    corpus: str = option("", CORPUS)
    negatives: PositiveInt = option(NEGATIVES_A_QUERY, NEGATIVES)
    passages: Annotated[int, Field(ge=2)] = option(PASSAGES_A_QUERY, PASSAGES)
    passage: str = "passage"
    highest: float = 1.0
    row_type = RankingRow
    scored_by = "text"

    def load(self, source: Source, split: str) -> Rows:
        """The rows of a split, with passages of the corpus.

        Raises UserError that names the row for an empty text or a wrong label, and for rows in which nothing can be
        ranked.
        """
        self._require_used()
        loaded = super().load(source, split)
        if passages := self.corpus_texts():
            loaded = with_negatives(loaded, list(passages), self.negatives)
        if any(row.gold is None for row in loaded.rows):
            return loaded
        _require_order(loaded, trains=split == self.train_split)
        return replace(loaded, notes=(*loaded.notes, *_unscored(loaded)))

    def _require_used(self) -> None:
        """Raises UserError for a setting that does nothing without another."""
        if not self.corpus and self.negatives != NEGATIVES_A_QUERY:
            raise UserError(
                f"negatives={self.negatives} counts passages of a file, and none is named", "Add corpus=FILE"
            )
        if self.loss == "row" and self.passages != PASSAGES_A_QUERY:
            raise UserError(
                f"passages={self.passages} is for losses of whole queries, and loss=row learns each row",
                "Add loss=pairwise or loss=listwise",
            )

    def corpus_texts(self) -> dict[str, None]:
        """The distinct passages of the corpus, in its order; none without one."""
        return corpus_passages(Path(self.corpus), self.passage) if self.corpus else {}

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

    def head(self, backbone: "Backbone") -> "RankingHead":
        from finetune.task_types.ranking.head import RankingHead

        return RankingHead(backbone, ("relevance",), learns=self.loss)

    def label_for_loss(self, row: RankingRow) -> float | None:
        """The share of the highest grade; None where whole queries are learned."""
        return None if row.gold is None or self.loss != "row" else min(1.0, row.gold / self.highest)

    def sums(self, answers: Sequence[Answer], rows: Sequence[RankingRow]) -> dict[str, Counted]:
        """Means over the queries with a relevant passage; none where there is no such query. Queries are resampled."""
        grades, scores = self._values(answers, rows)
        queries = [some for some in by_query(rows) if any(grades[index] > 0 for index in some)]
        found = [ranking_scores([grades[i] for i in some], [scores[i] for i in some]) for some in queries]
        return {name: mean_counted([one[name] for one in found]) for name in self.metric_names if found}

    def baselines(self, train: Sequence[RankingRow], rows: Sequence[RankingRow]) -> dict[str, list[Answer]]:
        passages = self.corpus_texts() or dict.fromkeys(row.pair or "" for row in train)
        places = {text: place for place, text in enumerate({**passages, **dict.fromkeys(row.pair for row in rows)})}
        scores = Bm25(list(places)).scores([row.text for row in rows], [places[row.pair] for row in rows])
        return {"random-order": [Answer(value=0.0)] * len(rows), "bm25": [Answer(value=float(one)) for one in scores]}

    def train_features(
        self, rows: Sequence[RankingRow], tokenizer: "PreTrainedTokenizerBase", max_length: int, watch: "Watcher"
    ) -> list[Feature] | None:
        """A feature for each query whose passages are not all equally relevant; None for a loss of rows."""
        if self.loss == "row":
            return None
        queries = [some for some in by_query(rows) if len({rows[index].gold for index in some}) > 1]
        passages = self.encode(rows, tokenizer, max_length)
        return [
            query_feature(some[0], [passages[i] for i in some], [rows[i].gold or 0.0 for i in some], self.loss)
            for some in queries
        ]

    def draw(self, features: Sequence[Feature], generator: np.random.Generator) -> Sequence[Feature]:
        """Whole rows; of a query `passages`, drawn again for each update."""
        if self.loss == "row":
            return features
        return [some_passages(one, self.passages, generator, self.loss) for one in features]


def _unscored(loaded: Rows) -> list[str]:
    """Notes on queries that are not scored, and on those of which any order is right."""
    queries = [[loaded.rows[index].gold for index in some] for some in by_query(loaded.rows)]
    none, only = sum(not any(grades) for grades in queries), sum(all(grades) for grades in queries)
    of = f"of {len(queries):,} queries"
    notes = [f"{none:,} {of} have no relevant passage: left out of the scores"] * bool(none)
    return notes + [f"{only:,} {of} have relevant passages only: any order of them is right"] * bool(only)


def _require_order(loaded: Rows, *, trains: bool) -> None:
    """Raises UserError where no query has both relevant passages and others, and where one query is all there is."""
    queries = [{(loaded.rows[index].gold or 0) > 0 for index in some} for some in by_query(loaded.rows)]
    if not any(True in found for found in queries):
        raise UserError(
            f"{loaded.origin}: none of its {so_many(len(queries), 'query')} has a relevant passage, whose label is "
            "above 0",
            "Name the labels: label=COLUMN; or where these rows were drawn as dev, give dev=FILE or another seed",
        )
    if not any(len(found) == 2 for found in queries):
        what = "each query has one passage" if len(queries) == len(loaded.rows) else "all passages are relevant"
        raise UserError(
            f"{loaded.origin}: {what}, so that there is nothing to rank",
            "Name a file of passages of which BM25 takes some that are not relevant: corpus=FILE",
        )
    if trains and loaded.drawn and len(queries) < 2:
        raise UserError(f"{loaded.origin}: has only one query to train on", "Add queries, of which some are held out")

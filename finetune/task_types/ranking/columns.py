"""A query, a passage and its relevance a row: user data of the type `ranking`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from finetune.data.characters import same_text
from finetune.data.issues import Finding, Issue
from finetune.data.messages import short, so_many
from finetune.data.rows import grouped
from finetune.data.values import as_number, is_missing
from finetune.errors import UserError
from finetune.task_types.classification.label_kinds import RANKING
from finetune.task_types.classification.own import TextType
from finetune.task_types.columns import Layout
from finetune.task_types.findings import SplitRows
from finetune.task_types.own_type import Evidence
from finetune.task_types.predictions import Line, Predictions
from finetune.task_types.ranking.groups import RankingColumns, is_ranking, ranking_columns
from finetune.task_types.ranking.queries import query_of
from finetune.task_types.ranking.task import RankingTask
from finetune.task_types.row_issues import NoRow, unusable
from finetune.task_types.task import Task

NO_GRADE = unusable(
    "no-grade",
    "the relevance of a passage is not a number from 0",
    "Write 0 for one that is not relevant, 1 or more for others",
)

NO_RELEVANT = Issue(
    code="no-relevant",
    severity="warning",
    worst="error",
    meaning="queries without a relevant passage",
    remedy="They are left out of the scores; correct their labels if one is relevant",
)
NOTHING_TO_RANK = Issue(
    code="nothing-to-rank",
    severity="note",
    worst="warning",
    meaning="queries with relevant passages only: any order of them is right",
    remedy="Add passages that are not relevant, or let BM25 take some from a file: corpus=FILE",
)


class Ranking(TextType):
    """Rows of one query are its passages, each with a grade of relevance."""

    name = RANKING
    ranked = True
    task_class = RankingTask
    issues: ClassVar[tuple[Issue, ...]] = (NO_RELEVANT, NOTHING_TO_RANK, NO_GRADE)

    def find(self, evidence: Evidence) -> Layout | None:
        """The columns whose names say so, where the groups of rows do too, or the user asked for this type.

        Raises UserError where the user asked for it and there are not two texts and a label.
        """
        asked, chosen = evidence.shape is not None, evidence.chosen
        named = None if evidence.markers else ranking_columns(evidence.facts, evidence.chosen)
        if not asked:
            groups = None if named is None else is_ranking(named, evidence.columns)
            return None if named is None or groups is None else _layout(named, {"shape": groups.words})
        if named is not None and not {"text", "label"} & {*chosen}:
            return _layout(named, {"shape": "given"})
        layout = super().find(evidence)
        if layout is not None and (len(layout.text) != 2 or not layout.label):
            lacks = "a label" if len(layout.text) == 2 else f"a second text: the only one is {layout.text[0]}"
            raise UserError(
                f"{evidence.file}: shape={RANKING} needs a query, a passage and a label, and lacks {lacks}",
                "Name them: text=QUERY,PASSAGE label=RELEVANCE",
            )
        return layout

    def gold(self, layout: Layout, values: Mapping[str, Any]) -> float | None:
        """The grade. Raises NoRow for one that is not a number from 0."""
        cell = layout.label_in(values)
        grade = as_number(cell, decimal=layout.decimal)
        if not is_missing(cell) and (grade is None or grade < 0):
            raise NoRow(f"has the label {short(cell)}, which is not a number from 0 (not relevant)", NO_GRADE)
        return grade

    def unit(self, row: Any) -> str:
        return query_of(row)

    def strata(self, rows: Sequence[Any]) -> Sequence[bool]:
        """Whether the row's query has a relevant passage."""
        found = {query_of(row) for row in rows if (row.gold or 0) > 0}
        return [query_of(row) in found for row in rows]

    def compared(self, row: Any) -> str:
        """The query."""
        return query_of(row)

    def findings(self, rows: SplitRows) -> Iterable[Finding]:
        """Queries that have no relevant passage, and those of which any order is right."""
        queries = [str(cell) for cell in rows.table.columns[rows.layout.text[0]]]
        labelled = [index for index, gold in enumerate(rows.golds) if gold is not None]
        members = grouped(same_text(queries[index]) for index in labelled)
        groups = [[labelled[place] for place in some] for some in members]
        relevant = [sum(rows.golds[index] > 0 for index in some) for some in groups]
        none = [some for some, count in zip(groups, relevant, strict=True) if not count]
        only = [some for some, count in zip(groups, relevant, strict=True) if count == len(some)]
        words = {NO_RELEVANT: "have no relevant passage", NOTHING_TO_RANK: "have relevant passages only"}
        for issue, found in ((NO_RELEVANT, none), (NOTHING_TO_RANK, only)):
            if found:
                what = f"{len(found):,} of {so_many(len(groups), 'query')} {words[issue]}"
                yield Finding(issue, what, indexes=[some[0] for some in found], worst=len(found) == len(groups))

    def task(self, layout: Layout, *, name: str, read: Any = None) -> RankingTask:
        return RankingTask(name=name, read=read, passage=layout.text[1])

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """A row's score is the share of its query's more or less relevant passages that it is in the right order with;
        those of equal scores count half.
        """
        score, facts = np.ones(len(lines)), [""] * len(lines)
        queries: dict[str, list[int]] = {}
        for row, line in enumerate(lines):
            queries.setdefault(same_text(line["text"]), []).append(row)
        for rows in queries.values():
            labels, given = (np.array([lines[row][side] for row in rows], float) for side in ("gold", "prediction"))
            wanted, got = (np.sign(each[:, None] - each[None]) for each in (labels, given))
            pairs = np.abs(wanted).sum(1)
            in_order = (np.abs(wanted) * (1 + wanted * got) / 2).sum(1)
            score[rows] = np.divide(in_order, pairs, out=np.ones(len(rows)), where=pairs > 0)
            for row, value in zip(rows, given, strict=True):
                facts[row] = f"rank {1 + (given > value).sum()} of {len(rows)}"
        return Predictions(
            lines=lines, texts=[{"query": line["text"], "passage": line["pair"]} for line in lines], score=score,
            right=score == 1, facts=lambda row: [facts[row]], says=lambda _, value: f"{value:.4g}",
            sorted_by="share of pairs out of order",
        )  # fmt: skip


def _layout(named: RankingColumns, reasons: Mapping[str, str]) -> Layout:
    why = {"text": "their names: a query and a passage", "label": "its name", **reasons}
    return Layout(shape=RANKING, text=(named.query, named.passage), label=(named.label,), reasons=why)

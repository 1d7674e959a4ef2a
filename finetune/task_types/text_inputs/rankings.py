"""Tells rankings from other pairs with a label: groups of equal queries, with relevant passages and others.

Paraphrases, inference with repeated premises, and answers with grades are such pairs too. So all must fit: the names of
the columns, whole numbers from 0 as labels, and groups. Where only the groups fit, it stays a pair, with a line that
says how to read it as a ranking.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from finetune.data.characters import same_text
from finetune.data.values import as_number, as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.task_types.column_names import place_of
from finetune.task_types.columns import Layout
from finetune.task_types.text_inputs.label_kinds import CLASSES, NUMBER, RANKING

MOST_IN_GROUPS = 0.8  # share of the rows that are in groups with relevant passages and others
FEWEST_PASSAGES = 3  # of a query, on average: pairs of one right and one wrong text are common in other data
FEWEST_QUERIES = 3
MOST_RELEVANT = 0.5  # share of the rows in such groups
HIGHEST_GRADE = 10


@dataclass(frozen=True, kw_only=True)
class Groups:
    """The rows of a table by query: how many are `mixed`, with relevant passages and others, and what these have.

    `different` passages: where each query has most of them, they may be texts that are asked the same questions.
    """

    rows: int
    queries: int
    different: int
    mixed: int
    mixed_rows: int
    relevant: int

    @property
    def passages(self) -> float:
        """Those of a mixed query, on average."""
        return self.mixed_rows / max(1, self.mixed)

    @property
    def are_rankings(self) -> bool:
        """Whether nearly all rows are in groups of several passages, of which the smaller part is relevant."""
        return (
            self.mixed >= FEWEST_QUERIES
            and self.mixed_rows >= MOST_IN_GROUPS * self.rows
            and self.passages >= FEWEST_PASSAGES
            and self.relevant <= MOST_RELEVANT * self.mixed_rows
        )

    @property
    def are_crossed(self) -> bool:
        """Whether a query has at least half of all passages, on average."""
        return self.rows >= self.queries * self.different / 2

    @property
    def words(self) -> str:
        """`60 queries with 5 passages each`."""
        each = f"{self.rows / max(1, self.queries):.3g} passages each" + " on average" * (self.rows % self.queries > 0)
        return f"{self.queries:,} queries with {each}"


def groups_in(layout: Layout, columns: Mapping[str, Sequence[Any]]) -> Groups | None:
    """The groups of equal first texts; None where the labels of a pair are not grades of relevance."""
    if len(layout.text) != 2 or len(layout.label) != 1 or layout.markers:
        return None
    found: defaultdict[str, list[float]] = defaultdict(list)
    passages = set[str]()
    names = (*layout.text, *layout.label)
    for text, passage, cell in zip(*(columns[name] for name in names), strict=True):
        if is_missing(cell) or is_missing(text):
            continue
        passages.add(as_text(passage))
        grade = as_number(cell, decimal=layout.decimal)
        if grade is None or not 0 <= grade <= HIGHEST_GRADE or grade != int(grade):
            return None
        found[same_text(as_text(text))].append(grade)
    mixed = [grades for grades in found.values() if min(grades) == 0 < max(grades)]
    return Groups(
        rows=sum(map(len, found.values())),
        queries=len(found),
        different=len(passages),
        mixed=len(mixed),
        mixed_rows=sum(map(len, mixed)),
        relevant=sum(grade > 0 for grades in mixed for grade in grades),
    )


def ranking_in(layout: Layout, columns: Mapping[str, Sequence[Any]]) -> Groups | None:
    """The groups of a pair that is a ranking by its names, labels and groups; None of any other.

    Where every query has the same texts, these may be classified by some questions, unless the label says relevance.
    """
    if layout.shape not in (CLASSES, NUMBER) or len(layout.text) != 2 or not layout.label:
        return None
    query, passage = (_is_called(name, words) for name, words in zip(layout.text, ("query", "passage"), strict=True))
    graded = _is_called(layout.label[0], "relevance")
    if not query or not (passage or graded):
        return None
    groups = groups_in(layout, columns)
    if groups is None or not groups.are_rankings:
        return None
    return groups if graded or not groups.are_crossed else None


def ranking_lines(layout: Layout, columns: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """What the rows of a ranking are; of another pair with such groups that it could be one."""
    if layout.shape not in (RANKING, CLASSES, NUMBER) or (groups := groups_in(layout, columns)) is None:
        return
    if layout.shape == RANKING:
        other = "" if layout.reasons.get("shape") == "given" else f"; shape={CLASSES} reads each row by itself"
        yield f"ranking: {groups.words}{other}"
    elif groups.are_rankings and layout.reasons.get("shape") != "given":
        first = layout.text[0]
        yield f"not a ranking, but could be, with '{first}' as the query ({groups.words}): shape={RANKING}"


def _is_called(name: str, words: Literal["query", "passage", "relevance"]) -> bool:
    """Whether a column's name, or a word in it, is one of a list."""
    return place_of(name, word_list(words)) is not None

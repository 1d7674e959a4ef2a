"""Tells rankings from other pairs with a label: groups of equal queries, with relevant passages and others.

Paraphrases, inference with repeated premises, and answers with grades are such pairs too. So all must fit: the names of
the columns, whole numbers from 0 as labels, and groups. Where the groups alone fit, or the names alone, it stays what
it was, with a line that says how to read it as a ranking.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from finetune.data.characters import same_text
from finetune.data.column_types import ColumnFacts, facts_of
from finetune.data.messages import noun, so_many
from finetune.data.values import as_number, as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.task_types.candidates import copied
from finetune.task_types.column_names import is_about, is_id_name, label_tier, place_of
from finetune.task_types.columns import Layout
from finetune.task_types.text_inputs.label_kinds import CLASSES, NUMBER, RANKING

MOST_IN_GROUPS = 0.8  # share of the rows that are of a query with several
MOST_MIXED = 0.5  # share of the rows that are of a query with relevant passages and others
FEWEST_PASSAGES = 3  # of a query, on average: pairs of one right and one wrong text are common in other data
FEWEST_QUERIES = 3
MOST_RELEVANT = 0.5  # share of the rows of such queries
HIGHEST_GRADE = 10
PASSAGE_WORDS = 2  # of a passage whose name does not say so, on average
ANY_TEXT = ("text",)  # words in names of passages that say as little of other texts
Columns = Mapping[str, Sequence[Any]]
Called = Literal["query", "passage", "relevance", "label_of_degrees"]


@dataclass(frozen=True, kw_only=True)
class RankingColumns:
    """The columns of a ranking by their names."""

    query: str
    passage: str
    label: str

    @property
    def graded(self) -> bool:
        """Whether the label's name says that it is relevance."""
        return _is_called(self.label, "relevance")

    @property
    def vague(self) -> bool:
        """Whether the passage is called like any text, or the label like a score of one."""
        return place_of(self.passage, ANY_TEXT) is not None or _is_called(self.label, "label_of_degrees")


@dataclass(frozen=True, kw_only=True)
class QueryGroups:
    """The rows of a table by query: how many queries are `mixed`, with relevant passages and others, and their rows.

    `different` passages: where each query has most of them, they may be texts that are asked the same questions.
    """

    rows: int
    queries: int
    grouped: int
    different: int
    grades: int
    mixed: int
    mixed_rows: int
    relevant: int

    @property
    def are_rankings(self) -> bool:
        """Whether most rows are in groups of several passages, of which the smaller part is relevant."""
        return self.have_orders and self.relevant <= MOST_RELEVANT * self.mixed_rows

    @property
    def have_orders(self) -> bool:
        """Whether most rows are in groups of several passages, relevant ones and others."""
        return (
            self.mixed >= FEWEST_QUERIES
            and self.grouped >= MOST_IN_GROUPS * self.rows
            and self.mixed_rows >= MOST_MIXED * self.rows
            and self.mixed_rows >= FEWEST_PASSAGES * self.mixed
        )

    @property
    def are_crossed(self) -> bool:
        """Whether a query has at least half of all passages, on average."""
        return self.rows >= self.queries * self.different / 2

    @property
    def words(self) -> str:
        """`60 queries with 5 passages each`."""
        mean = self.rows / max(1, self.queries)
        each = f"{mean:.3g} {noun(mean, 'passage')} each" + " on average" * (self.rows % self.queries > 0)
        return f"{so_many(self.queries, 'query')} with {each}"


def ranking_columns(
    columns: Columns, facts: Mapping[str, ColumnFacts], chosen: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> RankingColumns | None:
    """The columns that are called like those of a ranking; None where one is missing, or several could be it.
    `chosen` are those that the user named, by role.

    Where the label's name says relevance, the passage may be the only other column of texts.
    """
    free = [name for name in columns if name in facts and not is_id_name(name) and not is_about(name)]
    graded = [name for name in free if _is_called(name, "relevance")]
    label = chosen.get("label") or graded or _strongest(free)
    texts = [
        name
        for name in chosen.get("text", free)
        if name not in label and facts[name].kind in ("text", "category", "id")
    ]
    query = _best([name for name in texts if _is_called(name, "query")], "query")
    others = [name for name in texts if name not in query]
    passage = _best([name for name in others if _is_called(name, "passage")], "passage")
    if not passage and graded:
        passage = [name for name in others if facts[name].words >= PASSAGE_WORDS]
    if not len(label) == len(query) == len(passage) == 1:
        return None
    return RankingColumns(query=query[0], passage=passage[0], label=label[0])


def groups_in(columns: Columns, query: str, passage: str, label: str, *, decimal: str = ".") -> QueryGroups | None:
    """The groups of equal queries; None where a label is not a grade of relevance."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    passages = set[str]()
    for text, other, cell in zip(columns[query], columns[passage], columns[label], strict=True):
        if is_missing(cell) or is_missing(text):
            continue
        grade = as_number(cell, decimal=decimal)
        if grade is None or not 0 <= grade <= HIGHEST_GRADE or grade != int(grade):
            return None
        passages.add(as_text(other))
        found[same_text(as_text(text))].append(grade)
    mixed = [grades for grades in found.values() if min(grades) == 0 < max(grades)]
    return QueryGroups(
        rows=sum(map(len, found.values())),
        queries=len(found),
        grouped=sum(len(grades) for grades in found.values() if len(grades) > 1),
        different=len(passages),
        grades=len({grade for grades in found.values() for grade in grades}),
        mixed=len(mixed),
        mixed_rows=sum(map(len, mixed)),
        relevant=sum(grade > 0 for grades in mixed for grade in grades),
    )


def is_ranking(named: RankingColumns, columns: Columns) -> QueryGroups | None:
    """The groups of a table whose names say ranking, where labels and groups do too; else None.

    So do labels that are all equal, which are no classes either. Where each query has most of the passages, these may
    be classified by some questions, unless the label says relevance.
    """
    groups = groups_in(columns, named.query, named.passage, named.label)
    if groups is None or not groups.queries:
        return None
    if groups.grades == 1:
        return groups
    if named.graded:
        return groups if groups.have_orders else None
    if named.vague:
        return None
    return groups if groups.are_rankings and not groups.are_crossed else None


def ranking_lines(layout: Layout, columns: Columns) -> Iterator[str]:
    """What the rows of a ranking are; of other texts with such groups that they could be one."""
    if layout.shape == RANKING and layout.label:
        groups = groups_in(columns, *layout.text, *layout.label, decimal=layout.decimal)
        other = "" if layout.reasons.get("shape") == "given" else f"; shape={CLASSES} reads each row by itself"
        yield from [f"ranking: {groups.words}{other}"] if groups is not None and groups.rows else []
        return
    if layout.shape not in (CLASSES, NUMBER) or layout.reasons.get("shape") == "given" or layout.markers:
        return
    for query, passage, label in _could_be(layout, columns):
        groups = groups_in(columns, query, passage, label)
        if groups is not None and groups.are_rankings:
            setting = copied(f"text={query},{passage} label={label}")
            yield f"not a ranking, but could be ({groups.words}): shape={RANKING} {setting}"
            return


def _could_be(layout: Layout, columns: Columns) -> Iterator[tuple[str, str, str]]:
    """The pair that was found, then the columns whose names say ranking."""
    if len(layout.text) == 2 and len(layout.label) == 1:
        yield (*layout.text, *layout.label)
    named = [
        name for name in columns if _is_called(name, "query") or _is_called(name, "passage") or name in layout.label
    ]
    if len(named) >= len(("query", "passage", "label")):
        found = ranking_columns(columns, {name: facts_of(name, columns[name]) for name in named})
        if found is not None:
            yield found.query, found.passage, found.label


def _is_called(name: str, words: Called) -> bool:
    """Whether a column's name, or a word in it, is one of a list."""
    return place_of(name, word_list(words)) is not None


def _best(names: Sequence[str], words: Called) -> list[str]:
    """Those that are called so most clearly: by the whole name, else by a word in it."""
    places = {name: place for name in names if (place := place_of(name, word_list(words)))}
    return [name for name, (how, _) in places.items() if how == min(how for how, _ in places.values())]


def _strongest(names: Sequence[str]) -> list[str]:
    """Those whose names say label most clearly."""
    tiers = {name: tier for name in names if (tier := label_tier(name)) is not None}
    return [name for name, tier in tiers.items() if tier == min(tiers.values())]

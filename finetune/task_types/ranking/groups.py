"""Tells rankings from other pairs with a label: groups of equal queries, with relevant passages and others.

Paraphrases, inference with repeated premises, and answers with grades are such pairs too. So all must fit: the names of
the columns, whole numbers from 0 as labels, and groups. Where the groups alone fit, or the names alone, it stays what
it was, with a line that says how to read it as a ranking.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from finetune.data.characters import same_text
from finetune.data.column_types import ColumnFacts, facts_of
from finetune.data.messages import noun, so_many
from finetune.data.values import as_number, as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.task_types.candidates import copied
from finetune.task_types.classification.label_kinds import CLASSES, NUMBER, RANKING
from finetune.task_types.column_names import is_about, is_id_name, label_tier, place_of
from finetune.task_types.columns import Layout

MOST_IN_GROUPS = 0.8  # share of the rows that are of a query with several
MOST_MIXED = 0.5  # share of the rows that are of a query with relevant passages and others
FEWEST_PASSAGES = 3  # of a query, on average: pairs of one right and one wrong text are common in other data
FEWEST_QUERIES = 3
MOST_RELEVANT = 0.5  # share of the rows of such queries
HIGHEST_GRADE = 10
PASSAGE_WORDS = 2  # of a passage whose name does not say so, on average
ANY_TEXT = ("text",)  # words in names of passages that say as little of other texts
Columns = Mapping[str, Sequence[Any]]


class RankingColumns(NamedTuple):
    """The columns of a ranking by their names."""

    query: str
    passage: str
    label: str


class QueryGroups(NamedTuple):
    """The rows of a table by query.

    `words` counts them: `60 queries with 5 passages each`; `grades` is how many different ones there are. `ordered`:
    most rows are in groups of several passages, relevant ones and others; `few_relevant`: the smaller part of these is
    relevant; `crossed`: a query has at least half of all passages, on average, as where texts are asked the same
    questions.
    """

    words: str
    grades: int
    ordered: bool
    few_relevant: bool
    crossed: bool


def ranking_columns(
    facts: Mapping[str, ColumnFacts], chosen: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> RankingColumns | None:
    """The columns that are called like those of a ranking; None where one is missing, or several could be it.
    `chosen` are those that the user named, by role.

    Where the label's name says relevance, the passage may be the only other column of texts.
    """
    free = [name for name in facts if not is_id_name(name) and not is_about(name)]
    graded = [name for name in free if _called(name, "relevance")]
    label = chosen.get("label") or graded or _clearest(free, label_tier)
    texts = [n for n in chosen.get("text", free) if n not in label and facts[n].kind in ("text", "category", "id")]
    query = _clearest(texts, lambda name: _called(name, "query"))
    others = [name for name in texts if name not in query]
    passage = _clearest(others, lambda name: _called(name, "passage"))
    if not passage and graded:
        passage = [name for name in others if facts[name].words >= PASSAGE_WORDS]
    if not len(label) == len(query) == len(passage) == 1:
        return None
    return RankingColumns(query[0], passage[0], label[0])


def _groups_in(columns: Columns, pair: RankingColumns, decimal: str = ".") -> QueryGroups | None:
    """The groups of equal queries; None without any, and where a label is not a grade of relevance."""
    queries: defaultdict[str, list[float]] = defaultdict(list)
    passages = set[str]()
    for text, other, cell in zip(*(columns[name] for name in pair), strict=True):
        if is_missing(cell) or is_missing(text):
            continue
        grade = as_number(cell, decimal=decimal)
        if grade is None or not 0 <= grade <= HIGHEST_GRADE or grade != int(grade):
            return None
        passages.add(as_text(other))
        queries[same_text(as_text(text))].append(grade)
    groups = list(queries.values())
    if not groups:
        return None
    mixed = [grades for grades in groups if min(grades) == 0 < max(grades)]
    rows, several, mixed_rows = (
        sum(map(len, some)) for some in (groups, [grades for grades in groups if len(grades) > 1], mixed)
    )
    mean = rows / len(groups)
    each = f"{mean:.3g} {noun(mean, 'passage')} each" + " on average" * (rows % len(groups) > 0)
    return QueryGroups(
        words=f"{so_many(len(groups), 'query')} with {each}",
        grades=len(set[float]().union(*groups)),
        ordered=len(mixed) >= FEWEST_QUERIES
        and several >= MOST_IN_GROUPS * rows
        and mixed_rows >= max(MOST_MIXED * rows, FEWEST_PASSAGES * len(mixed)),
        few_relevant=sum(grade > 0 for grades in mixed for grade in grades) <= MOST_RELEVANT * mixed_rows,
        crossed=rows >= len(groups) * len(passages) / 2,
    )


def is_ranking(pair: RankingColumns, columns: Columns) -> QueryGroups | None:
    """The groups of a table whose names say ranking, where labels and groups do too; else None.

    So do labels that are all equal, which are no classes either. Where each query has most of the passages, these may
    be classified by some questions, unless the label says relevance.
    """
    groups = _groups_in(columns, pair)
    if groups is None or groups.grades == 1:
        return groups
    if _called(pair.label, "relevance"):
        return groups if groups.ordered else None
    if place_of(pair.passage, ANY_TEXT) or _called(pair.label, "label_of_degrees"):  # as of any text with a score
        return None
    return groups if groups.ordered and groups.few_relevant and not groups.crossed else None


def ranking_lines(layout: Layout, columns: Columns) -> Iterator[str]:
    """What the rows of a ranking are; of other texts with such groups that they could be one."""
    guessed = layout.reasons.get("shape") != "given"
    pairs = [RankingColumns(*layout.text, *layout.label)] if len(layout.text) == 2 and len(layout.label) == 1 else []
    if layout.shape == RANKING and pairs and (groups := _groups_in(columns, pairs[0], layout.decimal)):
        yield f"ranking: {groups.words}" + f"; shape={CLASSES} reads each row by itself" * guessed
    if layout.shape not in (CLASSES, NUMBER) or not guessed or layout.markers:
        return
    named = [n for n in columns if _called(n, "query") or _called(n, "passage") or n in layout.label]
    if len(named) >= len(RankingColumns._fields):
        pairs += [pair] if (pair := ranking_columns({name: facts_of(name, columns[name]) for name in named})) else []
    for pair in pairs:
        if (groups := _groups_in(columns, pair)) and groups.ordered and groups.few_relevant:
            setting = copied(f"text={pair.query},{pair.passage} label={pair.label}")
            yield f"not a ranking, but could be ({groups.words}): shape={RANKING} {setting}"
            return


def _called(name: str, words: str) -> int | None:
    place = place_of(name, word_list(words))
    return place and place[0]


def _clearest(names: Sequence[str], rank: Callable[[str], int | None]) -> list[str]:
    ranks = {name: place for name in names if (place := rank(name)) is not None}
    return [name for name, place in ranks.items() if place == min(ranks.values())]

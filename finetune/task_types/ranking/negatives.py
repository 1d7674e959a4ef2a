"""Passages that are not relevant, from a file of passages: those that BM25 ranks highest for a query."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from finetune.data.characters import same_text
from finetune.data.column_types import facts_of
from finetune.data.reading import table_of, version_of
from finetune.data.rows import Row, Rows
from finetune.data.values import as_text, is_missing
from finetune.errors import UserError
from finetune.task_types.column_names import named
from finetune.task_types.ranking.bm25 import Bm25
from finetune.task_types.ranking.queries import by_query

NAMES = ("passage", "text", "document", "문서")  # of the column of passages, where it has not the name of the rows'


def corpus_passages(path: Path, column: str) -> dict[str, None]:
    """The distinct passages of a file, in its order: of the `column` of that name, or of the only one of texts.

    Raises UserError for a file that cannot be read, and where it is not clear which column it is.
    """
    return _passages(path, column, version_of(path))


@lru_cache(maxsize=2)
def _passages(path: Path, column: str, _: tuple[int, int]) -> dict[str, None]:
    columns = table_of(path).columns
    texts = [name for name, cells in columns.items() if facts_of(name, cells).kind == "text"]
    found = [column] if column in columns else named(columns, NAMES)[:1] or texts
    if len(found) != 1:
        raise UserError(
            f"corpus={path}: has no column '{column}', but {', '.join(columns)}",
            f"Call that of the passages '{column}'",
        )
    return dict.fromkeys(as_text(cell) for cell in columns[found[0]] if not is_missing(cell))


def with_negatives(loaded: Rows, passages: Sequence[str], most: int) -> Rows:
    """The rows, then for each query the `most` passages that BM25 ranks highest, without those that it has."""
    queries = by_query(loaded.rows)
    taken = [{same_text(loaded.rows[index].pair) for index in some} for some in queries]
    index = Bm25(passages)
    first = [some[0] for some in queries]
    ranked = index.ranked([loaded.rows[place].text for place in first], most + max(map(len, taken), default=0))
    rows, owners = list[Row](loaded.rows), list[int]()
    for place, known, best in zip(first, taken, ranked, strict=True):
        for number, text in enumerate(_new(passages, best, known, most), start=1):
            rows.append(replace(loaded.rows[place], id=f"{loaded.rows[place].id}-{number}", pair=text, gold=0.0))
            owners.append(place)
    slices = {name: [*values, *(values[place] for place in owners)] for name, values in loaded.slices.items()}
    return replace(loaded, rows=rows, slices=slices, added=len(owners))


def _new(passages: Sequence[str], ranked: Sequence[int], known: set[str], most: int) -> Iterator[str]:
    """The first passages that are not known."""
    for place in ranked:
        text = passages[place]
        if most and same_text(text) not in known:
            known.add(same_text(text))
            most -= 1
            yield text

"""The rows in the content of a JSON file: a list of objects or of lists, an object of columns, or SQuAD's layout."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from finetune.data.formats.exports import plain_rows
from finetune.errors import UserError

LONGEST_NAME = 40  # characters of a column's
SPLIT = re.compile(r"(oos_)?(train(ing)?|dev(elopment)?|val(id(ation)?)?|test|eval(uation)?)", re.IGNORECASE)


def rows_in(content: Any, path: Path) -> list[Any]:
    """A value for each row, mostly an object. Raises UserError where the content holds no list of rows."""
    content = _rows_within(content)
    if _holds_columns(content):
        content = [dict(zip(content, cells, strict=True)) for cells in zip(*content.values(), strict=True)]
    if not isinstance(content, list):
        raise _no_rows(path, content)
    if content and all(isinstance(article, dict) and "paragraphs" in article for article in content):
        return list(_questions(content))
    return _named_cells(plain_rows(content))


def _named_cells(content: list[Any]) -> list[Any]:
    """Rows that are lists of one length as objects: the first names the columns if no other row has its values."""
    lists = [row for row in content if isinstance(row, list)]
    if len(lists) < len(content) or len({len(row) for row in lists}) != 1 or not lists[0]:
        return content
    first, rest = lists[0], lists[1:]
    named = all(isinstance(cell, str) and cell.strip() for cell in first)
    named = named and not any(cell in [row[place] for row in rest] for place, cell in enumerate(first))
    named = named and max(map(len, first)) < LONGEST_NAME
    names = first if named else [f"column {number}" for number in range(1, len(first) + 1)]
    return [dict(zip(names, row, strict=True)) for row in (rest if named else lists)]


def _rows_within(content: Any) -> Any:
    """The list of rows in an object that holds one (`{"version": 1, "data": [...]}`); else the content itself."""
    if not isinstance(content, dict):
        return content
    lists = [value for value in content.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if isinstance(content.get("data"), list):
        return content["data"]
    return lists[0] if len(lists) == 1 and sum(isinstance(value, list) for value in content.values()) == 1 else content


def _no_rows(path: Path, content: Any) -> UserError:
    what = f"{path}: is JSON without a list of rows"
    lists = [name for name, value in content.items() if isinstance(value, list)] if isinstance(content, dict) else []
    if len(lists) < 2:
        return UserError(what, "Give a list of objects, one a row")
    script = "import json; [open(n + '.json', 'w').write(json.dumps(r)) for n, r in json.load(open('FILE')).items()]"
    return UserError(
        f"{what}; it holds the lists {', '.join(lists[:6])}",
        f'Write each into a file of its own: python -c "{script.replace("FILE", str(path))}", then run one of them',
    )


def _holds_columns(content: Any) -> bool:
    """Whether it is an object with a list of one length for each column, and not for each split."""
    if isinstance(content, dict) and all(SPLIT.fullmatch(str(name)) for name in content):
        return False
    if not isinstance(content, dict) or not all(isinstance(value, list) for value in content.values()):
        return False
    return len({len(value) for value in content.values()}) == 1


def _questions(articles: list[Any]) -> Iterator[dict[str, Any] | None]:
    """A row a question of SQuAD's layout; None where the layout is not kept."""
    for article in articles:
        for paragraph in article["paragraphs"] if isinstance(article["paragraphs"], list) else [None]:
            if not isinstance(paragraph, dict) or not isinstance(paragraph.get("qas"), list):
                yield None
                continue
            for question in paragraph["qas"]:
                if not isinstance(question, dict):
                    yield None
                    continue
                facts = {key: question.get(key) for key in ("id", "question", "answers")}
                yield {**facts, "context": paragraph.get("context"), "title": article.get("title", "")}

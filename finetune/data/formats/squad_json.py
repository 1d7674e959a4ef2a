"""SQuAD's JSON layout: articles of paragraphs, which have a context and questions, in any language."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

SQUAD = "in SQuAD's layout"


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question's JSON object, with its paragraph's context and its article's title.

    `where` is its path in the file, such as `data[0].paragraphs[2].qas[1]`; `paragraph` that of its paragraph. `fault`
    says what is missing at that path, where questions were expected.
    """

    where: str
    paragraph: str = ""
    given: dict[str, Any] = field(default_factory=dict)
    context: Any = None
    title: Any = ""
    fault: str = ""

    @property
    def cells(self) -> dict[str, Any]:
        """Its columns in a table."""
        facts = {key: self.given.get(key) for key in ("id", "question", "answers")}
        return {**facts, "context": self.context, "title": self.title}


def is_squad(content: Any) -> bool:
    """Whether JSON rows are articles."""
    return bool(content) and all(isinstance(article, dict) and "paragraphs" in article for article in content)


def questions(articles: Sequence[Any]) -> Iterator[Question]:
    """Yields every question of the list `data`, in order, and a faulty one where a list of them is missing."""
    for i, article in enumerate(articles):
        where = f"data[{i}]"
        paragraphs = article.get("paragraphs") if isinstance(article, dict) else None
        if not isinstance(paragraphs, list):
            yield _fault(where, "has no list 'paragraphs'")
            continue
        for j, paragraph in enumerate(paragraphs):
            yield from _of_paragraph(paragraph, f"{where}.paragraphs[{j}]", article.get("title", ""))


def _of_paragraph(paragraph: Any, where: str, title: Any) -> Iterator[Question]:
    asked = paragraph.get("qas") if isinstance(paragraph, dict) else None
    if not isinstance(asked, list):
        yield _fault(where, "has no list 'qas'")
        return
    for k, given in enumerate(asked):
        inner = f"{where}.qas[{k}]"
        if isinstance(given, dict):
            yield Question(where=inner, paragraph=where, given=given, context=paragraph.get("context"), title=title)
        else:
            yield _fault(inner, "is not a JSON object")


def _fault(where: str, what: str) -> Question:
    return Question(where=where, fault=f"is not in SQuAD's JSON layout: {where} {what}")

"""The layout of SQuAD's JSON: articles of paragraphs, which have a context and questions, in any language."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question as its object has it, with its paragraph's context and its article's title.

    `where` is its place in the file, such as `data[0].paragraphs[2].qas[1]`; `paragraph` that of its paragraph. `fault`
    says what the layout lacks at that place, where there may be questions.
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
    """Whether rows of JSON are articles."""
    return bool(content) and all(isinstance(article, dict) and "paragraphs" in article for article in content)


def questions(articles: Sequence[Any]) -> Iterator[Question]:
    """Every question of the list `data`, in its order, and a faulty one in place of what has no list of them."""
    for i, article in enumerate(articles):
        where = f"data[{i}]"
        paragraphs = article.get("paragraphs") if isinstance(article, dict) else None
        if not isinstance(paragraphs, list):
            yield _fault(where, "has no paragraphs that is a list")
            continue
        for j, paragraph in enumerate(paragraphs):
            yield from _of_paragraph(paragraph, f"{where}.paragraphs[{j}]", article.get("title", ""))


def _of_paragraph(paragraph: Any, where: str, title: Any) -> Iterator[Question]:
    asked = paragraph.get("qas") if isinstance(paragraph, dict) else None
    if not isinstance(asked, list):
        yield _fault(where, "has no qas that is a list")
        return
    for k, given in enumerate(asked):
        inner = f"{where}.qas[{k}]"
        if isinstance(given, dict):
            yield Question(where=inner, paragraph=where, given=given, context=paragraph.get("context"), title=title)
        else:
            yield _fault(inner, "is no JSON object")


def _fault(where: str, what: str) -> Question:
    return Question(where=where, fault=f"is not in SQuAD's JSON layout: {where} {what}")

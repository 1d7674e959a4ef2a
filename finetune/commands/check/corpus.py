"""What a corpus holds: documents, lines, bytes and tokens."""

from dataclasses import dataclass
from typing import Any

from finetune.data.documents import Documents
from finetune.data.messages import size_words

SAMPLED = 2_000  # documents, the first ones, that are tokenized


@dataclass(frozen=True, kw_only=True)
class CorpusFacts:
    """What a corpus holds: numbers of documents and lines, and `size` in bytes of UTF-8.

    `tokens` is estimated by the first documents; None without a tokenizer.
    """

    documents: int
    lines: int
    size: int
    tokens: int | None = None

    def shown(self) -> dict[str, str]:
        """The facts in words, by name."""
        facts = {"documents": f"{self.documents:,}", "lines": f"{self.lines:,}", "size": size_words(self.size)}
        return facts if self.tokens is None else facts | {"tokens": f"about {self.tokens:,}"}


def corpus_facts(documents: Documents, tokenizer: Any = None) -> CorpusFacts:
    """The facts of a corpus."""
    size, tokens = documents.size, None
    if tokenizer is not None:
        texts = [document.text for document in documents[:SAMPLED]]
        ids = tokenizer(texts, add_special_tokens=False, truncation=False, return_attention_mask=False, verbose=False)
        tokens = round(sum(map(len, ids["input_ids"])) / sum(len(text.encode()) for text in texts) * size)
    lines = sum(len(document.lines) for document in documents)
    return CorpusFacts(documents=len(documents), lines=lines, size=size, tokens=tokens)

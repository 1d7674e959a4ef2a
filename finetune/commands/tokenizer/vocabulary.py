"""What `finetune.tokenizer` returns: a trained tokenizer's folder, and how it splits held-out text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.api.html import html_list, html_table
from finetune.commands.tokenizer.splits import Splits
from finetune.data.messages import percent, so_many

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("vocabulary", "tokens", "tokens per word", "bytes per token", "unknown tokens", "words in 3 or more")


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """What `finetune.tokenizer` returns.

    Example: `finetune.tokenizer("corpus.txt", path="vocabulary").frame`

    Attributes:
        path: The folder: `tokenizer=` of a run of a new encoder takes it; `model=` where it has an extended encoder.
        added: The words that were added, the most frequent first; empty for a new vocabulary.
        documents: The numbers of documents that it was trained on, and that were held out.
        splits: How it and others split the held-out documents, by name.
        notes: What to know of it.
    """

    path: Path
    added: Sequence[str]
    documents: tuple[int, int]
    splits: Mapping[str, Splits]
    notes: Sequence[str]

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each vocabulary: its size, tokens per word, bytes per token, and shares between 0 and 1."""
        import pandas as pd

        rows = [
            (name, one.vocabulary, one.tokens_per_word, one.bytes_per_token, one.unknown_share, one.in_many_share)
            for name, one in self.splits.items()
        ]
        return pd.DataFrame(rows, columns=list(COLUMNS))

    @property
    def title(self) -> str:
        """What the figures are of."""
        words = next(iter(self.splits.values())).words
        return f"{so_many(words, 'word')} of {so_many(self.documents[1], 'held-out document')}"

    def lines(self) -> list[tuple[str, ...]]:
        """The cells of `frame`, as they are shown."""
        return [
            (
                name,
                f"{one.vocabulary:,}",
                f"{one.tokens_per_word:.2f}",
                f"{one.bytes_per_token:.2f}",
                percent(one.unknown_share),
                percent(one.in_many_share),
            )
            for name, one in self.splits.items()
        ]

    def __repr__(self) -> str:
        own = next(iter(self.splits.values()))
        return f"<Vocabulary of {own.vocabulary:,} tokens, {own.tokens_per_word:.2f} per word: {self.path}>"

    def _repr_html_(self) -> str:
        return html_table(COLUMNS, self.lines(), title=f"{self.path}: {self.title}") + html_list(self.notes)

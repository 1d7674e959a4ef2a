"""What `model.explain` returns: what each word adds, as a table, a page, and coloured words in a notebook."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.api.html import html_list
from finetune.api.quiet import command, plainly
from finetune.inference.explain.explanation import ExplainedRow, Explanation
from finetune.inference.explain.pieces import text_pieces

if TYPE_CHECKING:
    import pandas as pd

FOR, AGAINST = "44, 123, 182", "200, 80, 40"  # red, green and blue behind words
STRONGEST = 0.7  # opacity


@dataclass(frozen=True, kw_only=True)
class Explanations:
    """What `model.explain` returns.

    Example: `model.explain("a good film").frame`

    Attributes:
        model: The name of the model.
        rows: Each row's prediction, its texts, and its explanations: words with what they add.
        notes: What to take into account, such as rows that cannot be read.
    """

    model: str
    rows: Sequence[ExplainedRow]
    notes: Sequence[str] = ()

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each word: what it adds to the label's log-odds or score, and what is lost without it."""
        import pandas as pd

        words = [
            {"row": row.id, "label": one.label} | asdict(word)
            for row in self.rows
            for one in row.explanations
            for word in one.words
        ]
        return pd.DataFrame(words, columns=["row", "label", "word", "text_name", "start", "end", "added", "lost"])

    @plainly
    def write(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes an HTML page and returns its path; with `force`, over a file that we did not write.

        Raises UserError if it cannot be written.
        """
        command("explain").write_explanation_page(self.rows, Path(path), model=self.model, force=force)
        return Path(path)

    def __repr__(self) -> str:
        predictions = ", ".join(row.prediction for row in self.rows)
        return f"<Explanations of {self.model}: {predictions}>"

    def _repr_html_(self) -> str:
        return "".join(map(_row_html, self.rows)) + html_list(self.notes)


def _row_html(row: ExplainedRow) -> str:
    sure = "" if row.confidence is None else f", confidence {100 * row.confidence:.1f} %"
    head = f"<p><b>{escape(row.prediction)}</b>{sure}</p>"
    return head + "".join(f"<p>{escape(one.label)}: {''.join(_words_html(row, one))}</p>" for one in row.explanations)


def _words_html(row: ExplainedRow, one: Explanation) -> Iterator[str]:
    for number, name in enumerate(row.texts):
        yield " / " * (number > 0)
        for piece in text_pieces(row, one, name):
            colour = f"rgba({FOR if piece.share > 0 else AGAINST}, {STRONGEST * abs(piece.share):.2f})"
            yield (
                f'<span style="background: {colour}">{escape(piece.text)}</span>' if piece.word else escape(piece.text)
            )

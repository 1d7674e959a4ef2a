"""What `model.explain` returns: what each word adds, as a table and a page."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.api.quiet import command, plainly
from finetune.inference.explanation import ExplainedRow

if TYPE_CHECKING:
    import pandas as pd


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
        """A row for each word: what it adds to the label's log-odds or score."""
        import pandas as pd

        words = [
            {"row": row.id, "label": one.label} | asdict(word)
            for row in self.rows
            for one in row.explanations
            for word in one.words
        ]
        return pd.DataFrame(words, columns=["row", "label", "word", "text_name", "start", "end", "added"])

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

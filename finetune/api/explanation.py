"""`model.explain`: what each word adds to a prediction, as a table, a page, and coloured words in a notebook."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from finetune.analysis.explain.page import pieces, write_explained
from finetune.api.html import html_list
from finetune.api.inputs import in_memory, is_path
from finetune.api.quiet import plainly
from finetune.data.outputs import PAGE, require_replaceable_output
from finetune.errors import UserError
from finetune.inference.explain.explanation import ExplainedRow, Explanation
from finetune.task_types.explained import Asked

if TYPE_CHECKING:
    import pandas as pd

    from finetune.data.rows import Row
    from finetune.inference.predictor import Predictor

MOST_ROWS = 20  # of data
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
        require_replaceable_output(Path(path), endings=PAGE, force=force)
        write_explained(self.rows, Path(path), model=self.model)
        return Path(path)

    def __repr__(self) -> str:
        predictions = ", ".join(row.prediction for row in self.rows)
        return f"<Explanations of {self.model}: {predictions}>"

    def _repr_html_(self) -> str:
        return "".join(map(_row_html, self.rows)) + html_list(self.notes)


def require_one(texts: Sequence[str], row: str | None, rows: Any) -> None:
    """Raises UserError unless one of the three is given."""
    if sum(given is not None for given in (texts or None, row, rows)) != 1:
        raise UserError("give one of a text, `row` and `rows`", "Leave the others out")


def explained(
    predictor: "Predictor",
    run: str,
    texts: Sequence[str],
    *,
    row: str | None,
    split: str | None,
    rows: Any,
    asked: Asked,
) -> tuple[list[ExplainedRow], list[str]]:
    """The rows with what their words add, and notes; of `rows` the first MOST_ROWS. Needs torch.

    `run` is the folder of the run whose predictions `row` is looked up in.
    """
    from finetune.inference.explain.explain import explain
    from finetune.inference.explain.gradients import require_captum

    require_one(texts, row, rows)
    require_captum()
    chosen, notes = _chosen(predictor, run, texts, row=row, split=split, rows=rows)
    return [explain(predictor, each, asked) for each in chosen], notes


def _chosen(
    predictor: "Predictor", run: str, texts: Sequence[str], *, row: str | None, split: str | None, rows: Any
) -> tuple[list["Row"], list[str]]:
    from finetune.inference.explain.rows import row_of_run, row_of_texts, rows_of_file

    if row is not None:
        return [row_of_run(predictor, run, str(row), split=split, out=Path())], []
    if rows is None:
        return [row_of_texts(predictor, texts)], []
    with ExitStack() as stack:
        if is_path(rows):
            return rows_of_file(predictor, Path(rows), most=MOST_ROWS)
        folder = Path(stack.enter_context(TemporaryDirectory()))
        return rows_of_file(predictor, stack.enter_context(in_memory(rows, folder)), most=MOST_ROWS)


def _row_html(row: ExplainedRow) -> str:
    sure = "" if row.confidence is None else f", confidence {100 * row.confidence:.1f} %"
    head = f"<p><b>{escape(row.prediction)}</b>{sure}</p>"
    return head + "".join(f"<p>{escape(one.label)}: {''.join(_words_html(row, one))}</p>" for one in row.explanations)


def _words_html(row: ExplainedRow, one: Explanation) -> Iterator[str]:
    for number, name in enumerate(row.texts):
        yield " / " * (number > 0)
        for piece in pieces(row, one, name):
            colour = f"rgba({FOR if piece.share > 0 else AGAINST}, {STRONGEST * abs(piece.share):.2f})"
            yield (
                f'<span style="background: {colour}">{escape(piece.text)}</span>' if piece.word else escape(piece.text)
            )

"""CODAH (Chen et al. 2019): sentences with four endings, made after SWAG's pattern; five folds, `fold = 0` to 4."""

from dataclasses import dataclass
from typing import Literal

from finetune.data import TSV, Source, read_strictly
from finetune.errors import UserError
from finetune.task_types import ChoiceRow, ChoiceTask, Rows, option

COLUMNS = ("category", "context", "choice0", "choice1", "choice2", "choice3", "gold")


@dataclass(frozen=True, kw_only=True)
class Codah:
    """Reads one fold of the official files: `Codah()(source, split)` gives its rows."""

    fold: Literal[0, 1, 2, 3, 4] = option(0, "which of the five folds is read")

    def __call__(self, source: Source, split: str) -> Rows:
        """The rows of a split. Raises UserError with file and line for a label that is not a number from 0 to 3."""
        folder = f"cv_split/fold_{self.fold}"
        path = source.require((f"codah/{folder}", f"CODAH/{folder}", folder), holds=f"{split}.tsv") / f"{split}.tsv"
        rows: list[ChoiceRow] = []
        for number, fields in read_strictly(path, TSV, names=COLUMNS):
            if fields["gold"] not in ("0", "1", "2", "3"):
                raise UserError(f"{path}:{number}: the label is '{fields['gold']}'", "It must be a number from 0 to 3")
            choices = tuple(fields[column] for column in COLUMNS[2:6])
            rows.append(
                ChoiceRow(
                    id=f"{split}-{len(rows)}", context=fields["context"], choices=choices, gold=int(fields["gold"])
                )
            )
        return Rows(rows=rows, origin=str(path))


TASKS = [ChoiceTask(name="codah", read=Codah(), dev_splits=("dev", "test"))]

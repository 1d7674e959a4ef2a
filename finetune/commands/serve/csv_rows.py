"""A CSV file that is sent: read and written as `finetune predict` does, and predicted between other requests."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from finetune.commands.serve.refused import Refused
from finetune.commands.serve.served_model import ServedModel
from finetune.data.file_format import FileFormat
from finetune.data.open_files import compression_of
from finetune.data.reading import first_rows, records
from finetune.data.records import Record
from finetune.data.writing import write_rows
from finetune.errors import UserError
from finetune.inference.answer_rows import ERROR, Answered, answer_records, free_name, with_answer
from finetune.inference.predict_plan import SAMPLE_ROWS, layout_for
from finetune.task_types.columns import Layout
from finetune.task_types.trained_form import form_for


@dataclass(frozen=True, kw_only=True)
class CsvRows:
    """The records of a file, how it is written, and which of its columns the model reads."""

    model: ServedModel
    form: FileFormat
    layout: Layout
    records: Sequence[Record]

    def answers(self, some: Sequence[Record]) -> list[Answered]:
        """The predictions of records."""
        return answer_records(self.model.predictor, self.layout, some)

    def written(self, answers: Sequence[Answered], file: Path) -> bytes:
        """The file with the columns of the predictions, by way of that path."""
        taken = dict.fromkeys(name for record in self.records for name in record.values)
        rows = [with_answer(*pair, taken) for pair in zip(self.records, answers, strict=True)]
        names = dict.fromkeys([*taken, *(name for row in rows for name in row)])
        if (error := free_name(ERROR, taken)) in names:  # the last column, as in files that are predicted
            names[error] = names.pop(error)
        added = [name for name in names if name not in taken]
        write_rows(file, rows, list(names), escaped=added, like=self.form)
        return file.read_bytes()


def csv_rows(model: ServedModel, file: Path, *, most: int) -> CsvRows:
    """The records of a file. Raises UserError for one that cannot be read or lacks the model's columns, and Refused
    for more rows than may be sent, and for a packed file, which may be far larger than the body.
    """
    predictor = model.predictor
    packed = compression_of(file)
    form = None if packed else form_for(file, predictor.layout, {}, inputs=predictor.task.inputs)
    if form is None or not form.format.text:
        kind = packed if form is None else form.format.title
        raise Refused(415, f"the file is {kind}", "Send it as CSV, or predict it with `finetune predict`")
    sample = first_rows(file, form, most=SAMPLE_ROWS)
    try:
        layout, _ = layout_for(model.kind, predictor.layout, sample, {}, inputs=predictor.task.inputs)
    except UserError as error:  # which tells of `text`, that no request has
        names = ", ".join(model.columns)
        raise UserError(error.what, f"Give its header the names that the model reads: {names}") from error
    layout = model.kind.with_spelling(layout, sample.columns)
    found = list(islice(records(file, form), most + 1))
    if len(found) > most:
        raise Refused(413, f"the file has more than {most:,} rows", "Predict it with `finetune predict`")
    return CsvRows(model=model, form=form, layout=layout, records=found)

"""An export as a side of a comparison: it answers the rows that its run was scored on."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from finetune.errors import UserError
from finetune.inference.exported.export_facts import read_export_facts
from finetune.inference.predictor import load_predictor
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import find_run
from finetune.runs.predictions import read_predictions, write_predictions
from finetune.runs.record_files import load_record, write_record
from finetune.task_types.parts import Answer
from finetune.task_types.prediction_lines import prediction_lines, row_of_line
from finetune.task_types.task import Task
from finetune.training.evaluation import decided_as_dev


def answered_by_export(export: Path, scratch: Path, *, split: str | None, task: Task | None, out: Path) -> RunFolder:
    """A run in `scratch` with the record of an export's run and the predictions of the export, by its folder's name.

    Raises UserError where the run is not in `out`, or was not scored on the split.
    """
    source = read_export_facts(export).source
    run = find_run(source.run, out)
    if run is None:
        way = "Name the folder of runs that it is in, as `out`"
        raise UserError(f"{export}: it answers the rows of its run {source.run}, which is not in {out}", way)
    record = load_record(run.record_file)
    split = split or record.first_split
    predictor = load_predictor(export, task=task, out=out)
    rows = [row_of_line(predictor.task, line, run.path) for line in read_predictions(run.predictions(split))]
    name = re.sub(r"[^\w.-]|^[^\w]+", "_", export.absolute().name)[:100]
    found = RunFolder(scratch / name)
    found.model.mkdir(parents=True)
    shutil.copy(export / "config.json", found.model)
    answers: Sequence[Answer] = predictor.answers(rows)
    if split == record.first_split:
        answers = decided_as_dev(predictor.task, record, answers, rows)
    lines = prediction_lines(predictor.task, rows, answers)
    write_predictions(found.predictions(split), lines, {})
    write_record(found.record_file, record.model_copy(update={"id": name, "files": {}}))
    return found

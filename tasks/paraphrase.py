"""The quickstart's data set: 1,200 sentence pairs written for this project, half of them paraphrases.

Positives are reworded, negatives have high lexical overlap, so that counting words is not enough.
"""

from pathlib import Path

from finetune.data import CSV, Source, read_strictly
from finetune.errors import UserError
from finetune.metrics import accuracy, f1_of
from finetune.task_types import Rows, SentenceRow, SentenceTask


def read(_: Source, split: str) -> Rows:
    """The rows of `paraphrase-train.csv` or `paraphrase-dev.csv`, which are next to this file."""
    path = Path(__file__).with_name(f"paraphrase-{split}.csv")
    if not path.is_file():
        raise UserError(f"paraphrase has no split '{split}'", "It has train and dev")
    rows = [
        SentenceRow(id=f"{split}-{index}", text=fields["sentence1"], pair=fields["sentence2"], gold=fields["label"])
        for index, (_, fields) in enumerate(read_strictly(path, CSV, columns=["sentence1", "sentence2", "label"]))
    ]
    return Rows(rows=rows, origin=f"finetune/tasks/{path.name}")


TASKS = [
    SentenceTask(
        name="paraphrase",
        read=read,
        labels=("different", "same"),
        inputs=("sentence1", "sentence2"),
        metrics=(accuracy, f1_of("same")),
    )
]

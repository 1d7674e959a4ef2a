"""The labelled rows that a run read."""

from dataclasses import replace
from pathlib import Path

from support.toys import cat_rows, cat_task

from finetune.commands.label_next.labelled_rows import labelled_texts
from finetune.data.rows import Rows
from finetune.data.source import source_of
from finetune.runs.kept_head import OLD_DEV
from finetune.runs.record_files import load_record


def test_the_old_dev_of_a_run_that_was_trained_again_is_no_split_of_its_task(reviews: Path) -> None:
    splits = {name: Rows(rows=cat_rows(2), origin=name) for name in ("train", "dev")}
    task = replace(cat_task(), read=lambda _, split: splits[split])
    origins = dict.fromkeys([*splits, OLD_DEV], "toy")
    record = load_record(reviews / "record.json").model_copy(update={"data_origin": origins})
    texts, note = labelled_texts(record, task, None, None, source_of(None))
    assert (len(texts), note) == (4, "")

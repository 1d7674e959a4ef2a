"""Several tasks on one encoder: as a stranger's file declares them, from rows of all to each task's own scores."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from support.cli import InProcess
from support.paths import only_run
from support.toys import OWN_TASK, cat_task, labels_task, length_task, span_task, tag_task
from support.training import PLAIN, build

import finetune
from finetune.data.rows import row_fields
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.models.feature import label_counts
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types import Task
from finetune.task_types.plugins.several_tasks import PartRow, SeveralTasks

TASKS = (cat_task(), length_task(), labels_task(), tag_task())
FILE = f"""{OWN_TASK.rpartition("TASKS")[0]}
from finetune.metrics import pearson
from finetune.task_types.plugins.several_tasks import SeveralTasks

def numbers(source, split):
    rows = [SentenceRow(id=str(i), text='red ' * (i % 4), pair='x', gold=float(i % 4)) for i in range(1, 33)]
    return Rows(rows=[row for row in rows if row.text], origin='made up')

mine = SentenceTask(name='mine', read=read, labels=('0', '1'), metrics=(accuracy,))
TASKS = [SeveralTasks(name='both', tasks=(mine, SentenceTask(name='reds', read=numbers, metrics=(pearson,))))]
"""
QUICK = ("max_length=32", "train.epochs=8", "train.batch_size=8", "train.learning_rate=3e-3")


def several(*tasks: Task) -> SeveralTasks:
    return SeveralTasks(name="toy-several", tasks=tasks)


@pytest.mark.slow
def test_a_file_of_two_tasks_is_trained_and_called(tmp_path: Path, in_process: InProcess, tiny_bert: Path) -> None:
    (tmp_path / "own.py").write_text(FILE)
    code, _, err = in_process("run", "own.py:both", f"model={tiny_bert}", *QUICK, data="")
    assert code == 0, err
    run = only_run(tmp_path)
    scores = json.loads((run / "record.json").read_text())["scores"]["dev"]
    assert {*scores} == {"mean", "mine/accuracy", "reds/pearson"} and scores["mine/accuracy"] == 1
    model = finetune.load(str(run), task=f"{tmp_path}/own.py:both")
    assert [model("mine", text).value for text in ("cat", "dog")] == [{"mine": "1"}, {"mine": "0"}]
    assert isinstance(model("reds", "red red", "x").value["reds"], float)
    with pytest.raises(UserError, match="has no task 'yours'"):
        model("yours", "cat")
    for command in (
        ("show", run.name, "--predictions", "3"),
        ("report", run.name),
        ("table",),
        ("check", "own.py:both"),
    ):
        code, _, err = in_process(*command, *([f"model={tiny_bert}"] if command[0] == "check" else []), data="")
        assert code == 0, err


def test_each_head_learns_from_its_own_rows_alone(tiny_bert: Path) -> None:
    trainer, features = build(several(*TASKS), tiny_bert, PLAIN)
    model = trainer.engine.model.eval()
    batch, counts = collate(features[::11], pad_id=0), label_counts(features[::11])
    losses = model.head.losses(model(*batch.inputs()), batch.labels)
    assert {*losses} == {*counts} == {part.name for part in TASKS}
    for part in TASKS:
        alone = [feature for feature in features[::11] if part.name in feature.label]
        own = collate(alone, pad_id=0)
        (only,) = model.head.losses(model(*own.inputs()), own.labels).values()
        assert float(losses[part.name]) == pytest.approx(float(only), rel=1e-4)
        assert counts[part.name] == label_counts(alone)[part.name]
    own = collate(features[:8], pad_id=0)  # of the first task alone
    (loss,) = model.head.losses(model(*own.inputs()), own.labels).values()
    loss.backward()
    assert not model.head.heads[1].output.weight.grad.any() and model.head.heads[0].output.weight.grad.any()


def test_predictions_are_those_of_each_task_in_the_order_of_the_rows(tiny_bert: Path) -> None:
    task = several(*TASKS)
    rows = task.load(Source(), "dev").rows[::-9]
    assert task.score(task.labels_of(rows), rows)["mean"] == pytest.approx(1)
    saved = [
        PartRow(id=row.id, parts=dict.fromkeys(one.name for one in TASKS) | row_fields(row)["parts"]) for row in rows
    ]
    assert task.labels_of(saved) == task.labels_of(rows)
    model = build(task, tiny_bert, PLAIN)[0].engine.model.eval()
    features = task.encode(rows, load_tokenizer(tiny_bert), 32)
    assert [feature.row for feature in features] == list(range(len(rows)))
    with torch.inference_mode():
        logits = [model(*collate([feature], pad_id=0).inputs())[0].numpy() for feature in features]
    answers = task.decode(logits, features, rows)
    for row, answer, own in zip(rows, answers, logits, strict=True):
        assert task.fits(answer.value, row) and task.cells(answer, row)["prediction"] == answer.value[row.task]
        if row.task == "toy-cats":
            assert answer.value == {row.task: ("no", "yes")[int(np.argmax(own[0, :2]))]}
    assert set(task.score(answers, rows)) == set(task.metric_names)


@pytest.mark.parametrize("tasks", [(cat_task(), span_task()), (cat_task(), cat_task())])
def test_tasks_that_cannot_be_parts_are_refused(tasks: tuple[Task, ...]) -> None:
    with pytest.raises(UserError):
        several(*tasks)

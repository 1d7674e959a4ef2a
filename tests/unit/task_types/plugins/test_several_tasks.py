"""Several tasks on one encoder: as a stranger's file declares them, from rows of all to each task's own scores."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from support.cli import InProcess
from support.paths import only_run
from support.toys import OWN_TASK, cat_task, choice_task, labels_task, length_task, span_task, tag_task
from support.training import CPU, PLAIN, build, fit

import finetune
from finetune.data.rows import row_fields
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.models.building import build_model
from finetune.models.feature import label_counts
from finetune.models.model_folder import load_trained, save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe
from finetune.task_types import Task
from finetune.task_types.plugins.several_tasks import PartRow, SeveralTasks

TEXTS = (cat_task(), length_task(), labels_task())
FILE = f"""{OWN_TASK.rpartition("TASKS")[0]}
from finetune.metrics import pearson
from finetune.task_types.plugins.several_tasks import SeveralTasks

def numbers(source, split):
    rows = [SentenceRow(id=str(i), text='red ' * (i % 4), pair='x', gold=float(i % 4)) for i in range(1, 33)]
    return Rows(rows=[row for row in rows if row.text], origin='made up')

mine = SentenceTask(name='mine', read=read, labels=('0', '1'), metrics=(accuracy,))
TASKS = [SeveralTasks(name='both', tasks=(mine, SentenceTask(name='reds', read=numbers, metrics=(pearson,))))]
"""


def several(*tasks: Task) -> SeveralTasks:
    return SeveralTasks(name="toy-several", tasks=tasks)


def test_a_file_of_two_tasks_is_trained_scored_by_task_and_called_by_name(
    tmp_path: Path, in_process: InProcess, tiny_bert: Path
) -> None:
    (tmp_path / "own.py").write_text(FILE)
    settings = (
        f"model={tiny_bert}",
        "max_length=32",
        "train.epochs=8",
        "train.batch_size=8",
        "train.learning_rate=3e-3",
    )
    code, _, err = in_process("run", "own.py:both", *settings, data="")
    assert code == 0, err
    run = only_run(tmp_path)
    scores = json.loads((run / "record.json").read_text())["scores"]["dev"]
    assert {*scores} == {"mean", "mine/accuracy", "reds/pearson"} and scores["mine/accuracy"] == 1
    code, _, err = in_process("show", run.name, "--predictions", "3", data="")
    assert code == 0, err
    model = finetune.load(str(run), task=f"{tmp_path}/own.py:both")
    assert [model("mine", text).value for text in ("cat", "dog")] == [{"mine": "1"}, {"mine": "0"}]
    assert isinstance(model("reds", "red red", "x").value["reds"], float)
    with pytest.raises(UserError, match="has no task 'yours'"):
        model("yours", "cat")
    for command in (("report", run.name, "-o", "a.html"), ("table",), ("check", "own.py:both", settings[0])):
        code, _, err = in_process(*command, data="")
        assert code == 0, err


@pytest.mark.parametrize("tasks", [TEXTS, (*TEXTS, tag_task())], ids=["texts", "texts and words"])
def test_each_head_learns_from_its_own_rows_alone(tasks: tuple[Task, ...], tiny_bert: Path) -> None:
    task = several(*tasks)
    trainer, features = build(task, tiny_bert, PLAIN)
    model = trainer.engine.model.eval()
    chosen = features[::11]
    batch, counts = collate(chosen, pad_id=0), label_counts(chosen)
    assert set(counts) == {part.name for part in tasks}
    losses = model.head.losses(model(*batch.inputs()), batch.labels)
    for part in tasks:
        alone = [feature for feature in chosen if part.name in feature.label]
        own = collate(alone, pad_id=0)
        (only,) = model.head.losses(model(*own.inputs()), own.labels).values()
        assert float(losses[part.name]) == pytest.approx(float(only), rel=1e-4)
        assert counts[part.name] == label_counts(alone)[part.name]
    sum(losses.values()).backward()
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in model.head.parameters())


def test_a_batch_without_a_task_leaves_its_head_as_it_is(tiny_bert: Path) -> None:
    trainer, features = build(several(*TEXTS), tiny_bert, PLAIN)
    batch = collate(features[:8], pad_id=0)
    model = trainer.engine.model
    (loss,) = model.head.losses(model(*batch.inputs()), batch.labels).values()
    loss.backward()
    assert not model.head.heads[1].output.weight.grad.any()


@pytest.mark.slow
def test_the_tasks_are_learned_together(tiny_bert: Path) -> None:
    _, _, progress = fit(
        several(cat_task(), labels_task(), tag_task()), tiny_bert, PLAIN.model_copy(update={"epochs": 30})
    )
    assert progress.epochs[-1].headline > 0.95


def test_predictions_are_those_of_each_task_in_the_order_of_the_rows(tiny_bert: Path, tmp_path: Path) -> None:
    tasks = (*TEXTS, tag_task())
    task = several(*tasks)
    rows = task.load(Source(), "dev").rows[::-9]
    assert {name: score for name, score in task.score(task.labels_of(rows), rows).items() if "/" not in name} == {
        "mean": pytest.approx(1)
    }
    tokenizer = load_tokenizer(tiny_bert)
    features = task.encode(rows, tokenizer, 32)
    assert [feature.row for feature in features] == list(range(len(rows)))
    model, _ = build_model(tiny_bert, task.head, Recipe(task="any"), device=CPU)
    save_checkpoint(model, tmp_path / "model", tokenizer, {})
    again = load_trained(tmp_path / "model", task.head).eval()
    with torch.inference_mode():
        logits = [again(*collate([feature], pad_id=0).inputs())[0].numpy() for feature in features]
    answers = task.decode(logits, features, rows)
    for row, answer, own, feature in zip(rows, answers, logits, features, strict=True):
        assert task.fits(answer.value, row) and task.cells(answer, row)["prediction"] == answer.value[row.task]
        assert [*feature.label] == [row.task]
        if row.task == "toy-cats":
            assert answer.value == {row.task: ("no", "yes")[int(np.argmax(own[0, :2]))]}
    assert set(task.score(answers, rows)) == set(task.metric_names)


def test_saved_rows_become_rows_again() -> None:
    task = several(cat_task(), tag_task())
    for row in task.load(Source(), "dev").rows[::40]:
        saved = PartRow(id=row.id, parts={"toy-cats": None, "toy-tags-sentence": None} | row_fields(row)["parts"])
        assert task.labels_of([saved]) == task.labels_of([row])


@pytest.mark.parametrize("tasks", [(cat_task(), span_task()), (choice_task(),), (cat_task(), cat_task())])
def test_tasks_that_cannot_be_parts_are_refused_in_one_line(tasks: tuple[Task, ...]) -> None:
    with pytest.raises(UserError) as error:
        several(*tasks)
    assert error.value.way_out

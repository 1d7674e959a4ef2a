"""Checkpoints that transformers' own classes have written load into our heads, in every family."""

from pathlib import Path

import pytest
import torch
import transformers
from support.pairs import WITHOUT_CLASS
from support.toys import cat_task, choice_task, span_task, tag_task
from support.training import logits_of
from transformers import AutoConfig, AutoTokenizer

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.models.model_folder import empty_model, load_trained
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types.task import Task


def test_a_checkpoint_of_transformers_gives_the_same_logits(tiny_encoder: Path, tmp_path: Path) -> None:
    """With each kind of head: the names of its layers are in the family's row."""
    for task in (cat_task(), tag_task(), span_task(), choice_task()):
        assert_loaded(task, tiny_encoder, tmp_path / task.name)


def assert_loaded(task: Task, encoder: Path, folder: Path) -> None:
    config = AutoConfig.from_pretrained(encoder)
    head = empty_model(config, task.head).head
    config.update({"id2label": dict(enumerate(head.labels)), "label2id": {n: i for i, n in enumerate(head.labels)}})
    without = (config.model_type, head.auto_class.removeprefix("AutoModelFor")) in WITHOUT_CLASS
    if without:
        config.save_pretrained(folder)
        with pytest.raises(UserError, match="can be loaded only if finetune saved them"):
            load_trained(folder, task.head)
        return
    torch.manual_seed(3)
    theirs = getattr(transformers, head.auto_class).from_config(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    theirs.save_pretrained(folder)
    AutoTokenizer.from_pretrained(encoder).save_pretrained(folder)
    ours = load_trained(folder, task.head).eval()
    features = task.encode(task.load(Source(), "dev").rows, load_tokenizer(folder), 32)
    features = [f for f in features if len(f.choices) == len(features[0].choices)][:9]
    batch = collate(features, pad_id=config.pad_token_id)
    with torch.no_grad():
        found, expected = ours(*batch.inputs()), logits_of(theirs, batch)
    there = torch.isfinite(found)
    assert torch.allclose(found[there], expected[there], atol=1e-5)
    assert expected[there].std() > 1e-3

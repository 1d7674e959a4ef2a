"""Checkpoints that transformers' own classes have written load into our heads, in every family."""

from pathlib import Path

import pytest
import torch
import transformers
from support.encoders import WITHOUT_CLASS, each_task_and_family
from support.toys import cat_task, choice_task, span_task, tag_task
from support.training import logits_of
from transformers import AutoConfig, AutoTokenizer

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.models.loading import empty_model, load_trained
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types.task import Task


@each_task_and_family([cat_task(), tag_task(), span_task(), choice_task()], all_with=("bert", "modernbert"))
def test_a_checkpoint_of_transformers_gives_the_same_logits(task: Task, tiny_encoder: Path, tmp_path: Path) -> None:
    config = AutoConfig.from_pretrained(tiny_encoder)
    head = empty_model(config, task.head).head
    config.update({"id2label": dict(enumerate(head.labels)), "label2id": {n: i for i, n in enumerate(head.labels)}})
    without = (config.model_type, head.auto_class.removeprefix("AutoModelFor")) in WITHOUT_CLASS
    if without:
        config.save_pretrained(tmp_path)
        with pytest.raises(UserError, match="can be loaded only if finetune saved them"):
            load_trained(tmp_path, task.head)
        return
    torch.manual_seed(3)
    theirs = getattr(transformers, head.auto_class).from_config(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    theirs.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tiny_encoder).save_pretrained(tmp_path)
    ours = load_trained(tmp_path, task.head).eval()
    features = task.codec.encode(task.load(Source(), "dev").rows, load_tokenizer(tmp_path), 32)
    features = [f for f in features if len(f.choices) == len(features[0].choices)][:9]
    batch = collate(features, pad_id=config.pad_token_id)
    with torch.no_grad():
        found, expected = ours(*batch.inputs()), logits_of(theirs, batch)
    there = torch.isfinite(found)
    assert torch.allclose(found[there], expected[there], atol=1e-5)
    assert expected[there].std() > 1e-3

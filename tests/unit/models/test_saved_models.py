"""What is saved loads in transformers' own classes, and theirs here, with the same logits and names of labels."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from support.pairs import WITHOUT_CLASS, each_task_and_family
from support.records import change_config
from support.toys import (
    cat_task,
    choice_task,
    labels_task,
    length_task,
    ranking_task,
    sentences,
    single_answers,
    span_task,
    tag_task,
)
from support.training import CPU, build, logits_of
from transformers import AutoConfig, AutoTokenizer, BertModel, RobertaModel, pipeline

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.batch import Batch, collate
from finetune.models.building import build_model, load_backbone
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.head import EncoderWithHead
from finetune.models.model_folder import empty_model, has_own_head, load_config, load_trained
from finetune.models.saving import save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.task import Task

WEIGHTS = "model.safetensors"


def saved(task: Task, encoder: Path, folder: Path) -> EncoderWithHead:
    """A model with a new head, written to a folder."""
    trainer, _ = build(task, encoder, Train())
    save_checkpoint(trainer.model, folder, load_tokenizer(encoder), {"task": task.name, "max_length": 32})
    return trainer.model.eval()


def batch_of(task: Task, encoder: Path) -> Batch:
    features = task.encode(task.load(Source(), "dev").rows, load_tokenizer(encoder), 32)
    some = [feature for feature in features if len(feature.choices) == len(features[0].choices)][:9]
    return collate(some, pad_id=load_config(encoder).pad_token_id)


def assert_equal_logits(ours: EncoderWithHead, theirs: Any, batch: Batch) -> None:
    with torch.no_grad():
        own_format = isinstance(theirs, EncoderWithHead)
        found, expected = ours(*batch.inputs()), theirs(*batch.inputs()) if own_format else logits_of(theirs, batch)
    there = torch.isfinite(found)  # a span's logits at padding are not
    assert there.float().mean() > 0.5
    assert torch.allclose(found[there], expected[there], atol=1e-5)
    assert expected[there].std() > 3e-4


@each_task_and_family(single_answers())
def test_a_saved_model_gives_the_same_logits_in_transformers(task: Task, tiny_encoder: Path, tmp_path: Path) -> None:
    ours, batch = saved(task, tiny_encoder, tmp_path), batch_of(task, tiny_encoder)
    if not ours.head.has_class:
        assert (ours.backbone.config.model_type, ours.head.auto_class.removeprefix("AutoModelFor")) in WITHOUT_CLASS
        assert has_own_head(tmp_path)
        assert "only finetune loads the model" in ours.notes[0]
        assert_equal_logits(ours, load_trained(tmp_path, task.head).eval(), batch)
        return
    assert sorted(file.suffix for file in tmp_path.iterdir() if "model" in file.name) == [".safetensors"]
    theirs, info = getattr(transformers, ours.head.auto_class).from_pretrained(
        tmp_path, dtype=torch.float32, output_loading_info=True
    )
    assert not info["unexpected_keys"] and all(".pooler." in name for name in info["missing_keys"])  # which none reads
    assert_equal_logits(ours, theirs.eval(), batch)


@pytest.mark.slow
@each_task_and_family([cat_task(), length_task(), labels_task(), choice_task(), ranking_task()])
@pytest.mark.parametrize("pooling", ["mean", "unit", "cls"])
def test_a_head_on_another_vector_gives_the_same_logits_elsewhere(
    pooling: str, task: Task, tiny_encoder: Path, tmp_path: Path
) -> None:
    trainer, _ = build(task, tiny_encoder, Train(), pooling=pooling)
    ours, batch, auto_class = trainer.model.eval(), batch_of(task, tiny_encoder), trainer.model.head.auto_class
    settings = {"task": task.name, "max_length": 32, "pooling": pooling}
    save_checkpoint(ours, tmp_path, load_tokenizer(tiny_encoder), settings)
    assert_equal_logits(ours, load_trained(tmp_path, task.head).eval(), batch)
    kind = getattr(transformers, auto_class)
    if type(ours.backbone.config) not in kind._model_mapping:
        assert "only finetune loads the model" in ours.notes[0]
        return
    with pytest.raises(RuntimeError, match="mismatch"):  # its head would be random
        kind.from_pretrained(tmp_path)
    theirs, info = kind.from_pretrained(tmp_path, dtype=torch.float32, output_loading_info=True, trust_remote_code=True)
    assert not info["unexpected_keys"] and not info["missing_keys"]
    assert_equal_logits(ours, theirs.eval(), batch)
    if batch.choices is None:
        texts = [row.texts if len(row.texts) > 1 else row.text for row in task.load(Source(), "dev").rows[:9]]
        vectors = SentenceTransformer(str(tmp_path), device="cpu").encode(texts, convert_to_tensor=True)
        with torch.no_grad():
            assert torch.allclose(vectors, ours(*batch.inputs()), atol=1e-5)


def test_a_folder_of_version_0_1_is_read(tiny_bert: Path, tmp_path: Path) -> None:
    trainer, _ = build(cat_task(), tiny_bert, Train(), pooling="mean")
    ours, batch = trainer.model.eval(), batch_of(cat_task(), tiny_bert)
    save_checkpoint(ours, tmp_path, load_tokenizer(tiny_bert), {"pooling": "mean"})
    (tmp_path / WEIGHTS).unlink()
    save_file({name: tensor.contiguous() for name, tensor in ours.state_dict().items()}, tmp_path / OWN_WEIGHTS)
    assert_equal_logits(ours, load_trained(tmp_path, cat_task().head).eval(), batch)
    theirs = load_backbone(tmp_path, Recipe(task="any"))[0].encoder.state_dict()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in ours.backbone.encoder.state_dict().items())


def test_a_checkpoint_of_transformers_gives_the_same_logits(tiny_encoder: Path, tmp_path: Path) -> None:
    """With each kind of head: the names of its layers are in the family's row."""
    for task in (cat_task(), tag_task(), span_task(), choice_task()):
        folder, config = tmp_path / task.name, AutoConfig.from_pretrained(tiny_encoder)
        head = empty_model(config, task.head).head
        config.update({"id2label": dict(enumerate(head.labels)), "label2id": {n: i for i, n in enumerate(head.labels)}})
        if (config.model_type, head.auto_class.removeprefix("AutoModelFor")) in WITHOUT_CLASS:
            config.save_pretrained(folder)
            with pytest.raises(UserError, match="can be loaded only if finetune saved them"):
                load_trained(folder, task.head)
            continue
        torch.manual_seed(3)
        theirs = getattr(transformers, head.auto_class).from_config(config).eval()
        with torch.no_grad():
            for parameter in theirs.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.05)
        theirs.save_pretrained(folder)
        AutoTokenizer.from_pretrained(tiny_encoder).save_pretrained(folder)
        assert_equal_logits(load_trained(folder, task.head).eval(), theirs, batch_of(task, folder))


def test_a_pipeline_answers_by_the_names_of_labels(tiny_bert: Path, tmp_path: Path) -> None:
    task = labels_task()
    trainer, features = build(task, tiny_bert, Train())
    saved(task, tiny_bert, tmp_path / "labels")
    rows = task.load(Source(), "dev").rows
    ours = task.decode(trainer.engine.logits(features), features, rows)
    given = pipeline("text-classification", model=str(tmp_path / "labels"))([row.text for row in rows], top_k=None)
    for answer, each in zip(ours, given, strict=True):
        probabilities = {one["label"]: one["score"] for one in each}
        assert [probabilities[label] for label in task.labels] == pytest.approx(answer.probabilities, abs=1e-5)


def named(*labels: str) -> Callable[[Path], None]:
    return lambda folder: change_config(
        folder, id2label=dict(enumerate(labels)), label2id={label: number for number, label in enumerate(labels)}
    )


def without(part: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        weights = {name: tensor for name, tensor in load_file(folder / WEIGHTS).items() if part not in name}
        save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (named("positive", "negative"), r"positive, negative.*no, yes"),
        (without("pooler"), r"bert\.pooler\.dense\.bias, bert\.pooler\.dense\.weight missing"),
        (without("classifier"), "fully trained model"),
    ],
)
def test_a_saved_model_that_is_not_this_one_is_refused(
    change: Callable[[Path], None], message: str, tiny_bert: Path, tmp_path: Path
) -> None:
    saved(cat_task(), tiny_bert, tmp_path)
    change(tmp_path)
    with pytest.raises(UserError, match=message):
        load_trained(tmp_path, cat_task().head)


def test_labels_in_another_order_are_matched_by_name(tiny_bert: Path, tmp_path: Path) -> None:
    ours = saved(cat_task(), tiny_bert, tmp_path)
    turned = {n: t.flip(0).contiguous() if "classifier" in n else t for n, t in load_file(tmp_path / WEIGHTS).items()}
    save_file(turned, tmp_path / WEIGHTS, metadata={"format": "pt"})
    named("YES", "NO")(tmp_path)
    again = load_trained(tmp_path, cat_task().head).eval()
    batch = load_tokenizer(tmp_path)(sentences(4), padding=True, return_tensors="pt")
    with torch.no_grad():
        assert torch.allclose(ours(**batch), again(**batch), atol=1e-6)


def test_half_precision_checkpoints_are_loaded_as_fp32(tiny_bert: Path, tmp_path: Path) -> None:
    BertModel.from_pretrained(tiny_bert, dtype=torch.float16).save_pretrained(tmp_path)
    assert load_config(tmp_path).dtype == torch.float16
    backbone, _ = load_backbone(tmp_path, Recipe(task="any"))
    assert {p.dtype for p in backbone.parameters()} == {torch.float32}


def test_weights_that_a_checkpoint_lacks_are_named_where_a_head_reads_them(
    tiny_bert: Path, tiny_roberta: Path, tmp_path: Path
) -> None:
    BertModel.from_pretrained(tiny_bert, add_pooling_layer=False).save_pretrained(tmp_path / "bert")
    RobertaModel.from_pretrained(tiny_roberta, add_pooling_layer=False).save_pretrained(tmp_path / "roberta")
    pooler = ["pooler.dense.bias", "pooler.dense.weight"]
    for name, task, settings, expected in (
        ("bert", cat_task(), {}, pooler),
        ("bert", cat_task(), {"frozen": True, "layers": [2]}, []),  # whose pooled mix gets a new layer that is trained
        ("roberta", cat_task(), {}, []),
        ("roberta", choice_task(), {}, pooler),
    ):
        _, new = build_model(tmp_path / name, task.head, Recipe(task="any", **settings), device=CPU)
        assert new == expected
    with pytest.raises(UserError, match=r"lacks pooler\.dense\.bias, .* random .*layers=\[2\] reads"):
        build_model(tmp_path / "bert", cat_task().head, Recipe(task="any", frozen=True), device=CPU)


@pytest.mark.parametrize("umask", [0o022, 0o027])
def test_a_saved_model_can_be_read_by_whom_the_umask_allows(umask: int, tiny_bert: Path, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        saved(cat_task(), tiny_bert, tmp_path / "model")
    finally:
        os.umask(before)
    modes = {file.name: file.stat().st_mode & 0o777 for file in (tmp_path / "model").iterdir()}
    assert modes == dict.fromkeys(modes, 0o666 & ~umask)
    assert WEIGHTS in modes

"""What is saved loads in transformers' own classes, with the same logits and the names of the labels."""

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from support.pairs import WITHOUT_CLASS, each_task_and_family
from support.records import change_config
from support.toys import (
    cat_task,
    choice_task,
    labels_task,
    sentences,
    single_answers,
    tag_task,
    text_task,
)
from support.training import CPU, build, logits_of
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    BertModel,
    CanineConfig,
    ConvBertConfig,
    DebertaV2ForMaskedLM,
    GPT2Config,
    RobertaModel,
    T5Config,
    XLNetConfig,
    pipeline,
)

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.models.building import build_model, load_backbone
from finetune.models.families import most_tokens
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.head import EncoderWithHead
from finetune.models.kernels import dropout
from finetune.models.model_folder import load_config, load_trained, save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.task import Task


def saved(task: Task, encoder: Path, folder: Path) -> EncoderWithHead:
    """A model with a new head, written to a folder."""
    trainer, _ = build(task, encoder, Train())
    tokenizer = AutoTokenizer.from_pretrained(encoder)
    save_checkpoint(trainer.model, folder, tokenizer, {"task": task.name, "max_length": 32})
    return trainer.model.eval()


@each_task_and_family(single_answers())
def test_saved_model_gives_the_same_logits_in_transformers(task: Task, tiny_encoder: Path, tmp_path: Path) -> None:
    ours = saved(task, tiny_encoder, tmp_path)
    family = ours.backbone.config.model_type
    if not ours.head.has_class:
        assert (family, ours.head.auto_class.removeprefix("AutoModelFor")) in WITHOUT_CLASS
        require_loaded_again(ours, task, tmp_path)
        return
    theirs = getattr(transformers, ours.head.auto_class).from_pretrained(tmp_path, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    features = task.encode(task.load(Source(), "dev").rows, tokenizer, 32)
    features = [f for f in features if len(f.choices) == len(features[0].choices)][:9]
    batch = collate(features, pad_id=tokenizer.pad_token_id)
    with torch.no_grad():
        expected = logits_of(theirs, batch)
        found = ours(*batch.inputs())
    there = torch.isfinite(found)  # a span's logits at padding are not
    assert there.float().mean() > 0.5
    assert torch.allclose(found[there], expected[there], atol=1e-5)
    assert expected.std() > 3e-4
    assert sorted(file.suffix for file in tmp_path.iterdir() if "model" in file.name) == [".safetensors"]


def require_loaded_again(ours: EncoderWithHead, task: Task, folder: Path) -> None:
    """A model whose head has no class in transformers is in our own format, and a note says so."""
    assert (folder / OWN_WEIGHTS).is_file()
    assert "in a format that only finetune loads" in ours.notes[0]
    again = load_trained(folder, task.head).eval()
    features = task.encode(task.load(Source(), "dev").rows[:4], load_tokenizer(folder), 32)
    inputs = collate(features, pad_id=again.backbone.config.pad_token_id).inputs()
    with torch.no_grad():
        assert torch.allclose(ours(*inputs), again(*inputs), atol=1e-6)


def test_saved_tagger_answers_in_a_pipeline_by_tag_name(tiny_bert: Path, tmp_path: Path) -> None:
    ours = saved(tag_task(), tiny_bert, tmp_path)
    answers = pipeline("token-classification", model=str(tmp_path), ignore_labels=[])("the cat sat on a red house")
    assert {answer["entity"] for answer in answers} <= set(ours.head.labels)
    assert len(answers) == 7


def test_saved_model_answers_in_a_pipeline_by_label_name(tiny_encoder: Path, tmp_path: Path) -> None:
    saved(cat_task(), tiny_encoder, tmp_path)
    answers = pipeline("text-classification", model=str(tmp_path))(sentences(5), top_k=None)
    assert {answer["label"] for answer in answers[0]} == {"yes", "no"}
    assert all(sum(a["score"] for a in row) == pytest.approx(1) for row in answers)


def test_saved_model_gives_each_of_several_labels_a_probability_in_a_pipeline(tiny_bert: Path, tmp_path: Path) -> None:
    task = labels_task()
    trainer, features = build(task, tiny_bert, Train())
    saved(task, tiny_bert, tmp_path)
    rows = task.load(Source(), "dev").rows
    answers = task.decode(trainer.engine.logits(features), features, rows)
    for answer, given in zip(
        answers,
        pipeline("text-classification", model=str(tmp_path))([row.text for row in rows], top_k=None),
        strict=True,
    ):
        probabilities = {one["label"]: one["score"] for one in given}
        assert [probabilities[label] for label in task.labels] == pytest.approx(answer.probabilities, abs=1e-5)


def test_loading_again_gives_the_same_model(tiny_encoder: Path, tmp_path: Path) -> None:
    ours = saved(cat_task(), tiny_encoder, tmp_path)
    again = load_trained(tmp_path, cat_task().head).eval()
    batch = AutoTokenizer.from_pretrained(tmp_path)(sentences(4), padding=True, return_tensors="pt")
    with torch.no_grad():
        assert torch.allclose(ours(**batch), again(**batch), atol=1e-6)


def test_labels_in_another_order_are_matched_by_name(tiny_bert: Path, tmp_path: Path) -> None:
    ours = saved(cat_task(), tiny_bert, tmp_path)
    swapped = load_file(tmp_path / "model.safetensors")
    for name in ("classifier.weight", "classifier.bias"):
        swapped[name] = swapped[name].flip(0).contiguous()
    save_file(swapped, tmp_path / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"id2label": {"0": "YES", "1": "NO"}, "label2id": {"YES": 0, "NO": 1}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    again = load_trained(tmp_path, cat_task().head).eval()
    batch = AutoTokenizer.from_pretrained(tmp_path)(sentences(4), padding=True, return_tensors="pt")
    with torch.no_grad():
        assert torch.allclose(ours(**batch), again(**batch), atol=1e-6)


def test_other_labels_are_refused(tiny_bert: Path, tmp_path: Path) -> None:
    saved(cat_task(), tiny_bert, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"id2label": {"0": "positive", "1": "negative"}, "label2id": {"positive": 0, "negative": 1}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"positive, negative.*no, yes"):
        load_trained(tmp_path, cat_task().head)


def test_an_encoder_without_a_trained_head_is_refused(tiny_encoder: Path) -> None:
    with pytest.raises(UserError, match="fully trained model"):
        load_trained(tiny_encoder, cat_task().head)


def test_half_precision_checkpoints_are_loaded_as_fp32(tiny_bert: Path, tmp_path: Path) -> None:
    BertModel.from_pretrained(tiny_bert, dtype=torch.float16).save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == "float16"
    backbone, _ = load_backbone(tmp_path, Recipe(task="any"))
    assert {p.dtype for p in backbone.parameters()} == {torch.float32}


def test_weights_that_a_checkpoint_lacks_are_named(tiny_bert: Path, tiny_roberta: Path, tmp_path: Path) -> None:
    BertModel.from_pretrained(tiny_bert, add_pooling_layer=False).save_pretrained(tmp_path)
    _, new = build_model(tmp_path, cat_task().head, Recipe(task="any", seed=0), device=CPU)
    assert new == ["pooler.dense.bias", "pooler.dense.weight"]
    RobertaModel.from_pretrained(tiny_roberta, add_pooling_layer=False).save_pretrained(tmp_path / "roberta")
    _, new = build_model(tmp_path / "roberta", cat_task().head, Recipe(task="any", seed=0), device=CPU)
    assert new == []  # its own pooler is new too, but no head reads it
    _, new = build_model(tmp_path / "roberta", choice_task().head, Recipe(task="any", seed=0), device=CPU)
    assert new == ["pooler.dense.bias", "pooler.dense.weight"]  # here one does


def test_a_frozen_encoder_without_its_pooler_is_refused(tiny_bert: Path, tmp_path: Path) -> None:
    """Its pooler would stay random; read as a layer, its last one gets a new layer that is trained."""
    BertModel.from_pretrained(tiny_bert, add_pooling_layer=False).save_pretrained(tmp_path)
    with pytest.raises(UserError, match=r"lacks pooler\.dense\.bias, .* random .*layers=\[2\] reads"):
        build_model(tmp_path, cat_task().head, Recipe(task="any", frozen=True), device=CPU)
    built, new = build_model(tmp_path, cat_task().head, Recipe(task="any", frozen=True, layers=[2]), device=CPU)
    assert new == []
    assert [name for name, p in built.named_parameters() if p.requires_grad and "dense" in name]


def test_a_trained_model_without_its_pooler_is_refused(tiny_bert: Path, tmp_path: Path) -> None:
    saved(cat_task(), tiny_bert, tmp_path)
    weights = {name: t for name, t in load_file(tmp_path / "model.safetensors").items() if "pooler" not in name}
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"bert\.pooler\.dense\.bias, bert\.pooler\.dense\.weight missing"):
        load_trained(tmp_path, cat_task().head)


def test_positions_of_each_family(tiny_bert: Path, tiny_roberta: Path) -> None:
    """RoBERTa counts positions from behind its padding token: 130 of them hold 128 tokens."""
    assert most_tokens(AutoModel.from_pretrained(tiny_bert)) == 128
    assert most_tokens(AutoModel.from_pretrained(tiny_roberta)) == 128


def test_models_that_are_not_encoders_are_refused(tmp_path: Path) -> None:
    reason = "they are none of the families of encoders"
    for config in (
        T5Config(vocab_size=10, d_model=8),
        GPT2Config(vocab_size=10, n_embd=8),
        CanineConfig(hidden_size=8),
        ConvBertConfig(hidden_size=8),
        XLNetConfig(vocab_size=10, d_model=8, n_head=2),
    ):
        config.save_pretrained(tmp_path)
        with pytest.raises(UserError, match=f"models of type '{config.model_type}' are not supported: {reason}"):
            load_backbone(tmp_path, Recipe(task="any"))


def test_a_mean_of_logits_is_trained_as_a_mean_of_vectors_and_refused_where_it_was_trained(
    tiny_eurobert: Path, tmp_path: Path
) -> None:
    """EuroBERT's `late`, which transformers' class computes for each token."""
    shutil.copytree(tiny_eurobert, tmp_path / "encoder")
    change_config(tmp_path / "encoder", classifier_pooling="late")
    ours = saved(cat_task(), tmp_path / "encoder", tmp_path / "model")
    assert ours.backbone.vector == load_config(tmp_path / "model").classifier_pooling == "mean"
    change_config(tmp_path / "model", classifier_pooling="late")
    with pytest.raises(UserError, match=r"classifier_pooling = 'late'.* one of cls, bos, mean"):
        load_trained(tmp_path / "model", cat_task().head)


def test_an_unknown_activation_in_a_config_is_an_error_that_names_it(tiny_deberta_v2: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_deberta_v2, tmp_path / "encoder")
    change_config(tmp_path / "encoder", pooler_hidden_act="gelly")
    with pytest.raises(UserError, match=r"pooler_hidden_act = 'gelly' is unknown.*gelu"):
        build_model(tmp_path / "encoder", cat_task().head, Recipe(task="any"), device=CPU)


def test_the_head_for_words_of_a_deberta_is_the_one_in_its_weights(tiny_deberta_v2: Path, tmp_path: Path) -> None:
    """DeBERTa-v3 was published with the original head, and a config that does not say so."""
    config = AutoConfig.from_pretrained(tiny_deberta_v2)
    config.legacy = False
    torch.manual_seed(0)
    theirs = DebertaV2ForMaskedLM(config).eval()
    theirs.save_pretrained(tmp_path)
    change_config(tmp_path, legacy=True)
    ours, new = build_model(tmp_path, text_task().head, Recipe(task="any"), device=CPU)
    ids = torch.arange(5, 12).unsqueeze(0)
    with torch.no_grad():
        expected, found = theirs(input_ids=ids).logits, ours.eval()(ids, torch.ones_like(ids))
    assert new == []
    assert torch.allclose(found, expected, atol=1e-5)


def test_new_heads_start_as_in_the_original_code(tiny_bert: Path) -> None:
    torch.manual_seed(0)
    trainer, _ = build(cat_task(), tiny_bert, Train())
    wide = torch.nn.Linear(400, 400)
    trainer.model.head.output = wide
    trainer.model.head.initialise()
    assert wide.bias.abs().max() == 0
    assert wide.weight.abs().max() <= 0.04
    assert float(wide.weight.std()) == pytest.approx(0.0176, abs=5e-4)  # of a normal 0.02 cut at two deviations


def test_dropout_zeroes_the_share_it_should_and_keeps_the_mean() -> None:
    dropout.seed(1)
    x = torch.ones(1000, 1000)
    y = dropout.dropout(x, 0.1)
    assert float((y == 0).float().mean()) == pytest.approx(0.1, abs=2e-3)
    assert float(y.mean()) == pytest.approx(1.0, abs=2e-3)
    dropout.seed(1)
    assert torch.equal(dropout.dropout(x, 0.1), y)


def test_the_saved_tokenizer_does_not_depend_on_what_it_has_encoded_nor_on_the_network(
    tiny_bert: Path, tmp_path: Path
) -> None:
    """Tokens may come from a cache, so that the tokenizer was never called."""
    trainer, _ = build(cat_task(), tiny_bert, Train())
    files = []
    for name in ("unused", "used"):
        tokenizer = load_tokenizer(tiny_bert)
        if name == "used":
            tokenizer(["the cat", "a"], truncation=True, max_length=9, padding=True)
        tokenizer.init_kwargs["local_files_only"] = name == "used"  # as transformers sets it with HF_HUB_OFFLINE
        save_checkpoint(trainer.model, tmp_path / name, tokenizer, {"task": "toy", "max_length": 9})
        files.append([(tmp_path / name / f"{file}.json").read_bytes() for file in ("tokenizer", "tokenizer_config")])
    assert files[0] == files[1]


def test_an_encoder_of_a_run_keeps_nothing_of_its_head(tiny_bert: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_bert, tmp_path / "model")
    head = {"id2label": {"0": "bad", "1": "good"}, "label2id": {"bad": 0, "good": 1}}
    change_config(tmp_path / "model", **head, problem_type="regression", finetune={"task": "reviews.csv"})
    config = load_backbone(tmp_path / "model", Recipe(task="any"))[0].config.to_dict()
    plain = load_backbone(tiny_bert, Recipe(task="any"))[0].config.to_dict()
    left = [name for name in {**config, **plain} if config.get(name) != plain.get(name)]
    assert [name for name in left if name not in ("_name_or_path", "transformers_version")] == []


def test_layers_that_an_earlier_run_did_not_read_are_trained_again(tiny_bert: Path, tmp_path: Path) -> None:
    recipe = Recipe(task="any", layers=[1])
    model, _ = build_model(tiny_bert, cat_task().head, recipe, device=CPU)
    save_checkpoint(model, tmp_path, load_tokenizer(tiny_bert), {"layers": [1]})
    encoder = load_backbone(tmp_path, Recipe(task="any"))[0].encoder
    assert all(parameter.requires_grad for parameter in encoder.parameters())


@pytest.mark.parametrize("umask", [0o022, 0o027])
def test_a_saved_model_can_be_read_by_whom_the_umask_allows(umask: int, tiny_bert: Path, tmp_path: Path) -> None:
    task = cat_task()
    trainer, _ = build(task, tiny_bert, Train())
    before = os.umask(umask)
    try:
        save_checkpoint(trainer.model, tmp_path / "model", load_tokenizer(tiny_bert), {"task": task.name})
    finally:
        os.umask(before)
    modes = {file.name: file.stat().st_mode & 0o777 for file in (tmp_path / "model").iterdir()}
    assert modes == dict.fromkeys(modes, 0o666 & ~umask)
    assert "model.safetensors" in modes

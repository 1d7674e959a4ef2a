"""New tokens in a tokenizer, and their vectors in an encoder's embeddings."""

from pathlib import Path

import pytest
import torch
from support.toys import cat_task
from support.training import CPU
from transformers import AutoModel

from finetune.errors import UserError
from finetune.models.building import _grow_embeddings as grow_embeddings
from finetune.models.building import build_model
from finetune.models.tokenizers.load import add_tokens, load_tokenizer
from finetune.runs.recipe import Recipe
from finetune.task_types.classification.task import SentenceTask


def test_a_new_token_begins_near_the_mean_of_its_pieces(tiny_encoder: Path) -> None:
    encoder = AutoModel.from_pretrained(tiny_encoder)
    encoder.config.initializer_range = 1e-3
    before = encoder.get_input_embeddings().weight.detach().clone()
    pieces = load_tokenizer(tiny_encoder)("<cat>", add_special_tokens=False)["input_ids"]
    assert grow_embeddings(encoder, tiny_encoder, ["<cat>", "<dog>"]) == ["<cat>", "<dog>"]
    tokenizer = load_tokenizer(tiny_encoder)
    add_tokens(tokenizer, ["<cat>", "<dog>"])
    after, place = encoder.get_input_embeddings().weight, tokenizer.convert_tokens_to_ids("<cat>")
    assert torch.equal(after[: len(before)], before)
    assert torch.allclose(after[place], before[pieces].mean(0), atol=6e-3)
    assert len(tokenizer) <= encoder.config.vocab_size == len(after)
    assert grow_embeddings(encoder, tiny_encoder, []) == []


def test_an_adapter_has_no_vectors_of_new_tokens(tiny_bert: Path) -> None:
    task: SentenceTask = cat_task()
    recipe = Recipe(task="any", lora=2, adapter=True)
    with pytest.raises(UserError, match=r"adapter = true: .*new tokens.*merged model"):
        build_model(tiny_bert, task.head, recipe, device=CPU, tokens=["<cat>"])

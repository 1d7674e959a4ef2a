"""What a trial of an encoder finds: padding that is read, and weights that no text reaches."""

import copy
import pickle
from pathlib import Path

import torch
from support.encoders import wordpiece
from support.tiny_encoders import batch_of, save_random, tiny
from support.toys import cat_task
from support.training import CPU

from finetune.models.building import build_model
from finetune.models.head import EncoderWithHead
from finetune.runs.recipe import Recipe


def save_tiny(kind: str, folder: Path) -> Path:
    """A tiny encoder of a type with the vocabulary of the toys."""
    config = tiny(kind, padding=0)
    config.vocab_size = wordpiece(folder, "BertTokenizer")
    save_random(config, folder)
    return folder


def built(folder: Path) -> EncoderWithHead:
    return build_model(folder, cat_task().head, Recipe(task="any"), device=CPU)[0]


def answers(model: EncoderWithHead, lengths: list[int]) -> list[torch.Tensor]:
    with torch.no_grad():
        return list(model(*batch_of(model.backbone.config, lengths).inputs()))


def test_a_long_text_is_read_sparsely_after_a_short_one_too(tmp_path: Path) -> None:
    """transformers' BigBird stays with full attention after its first short text, as is the one that is tried."""
    model = built(save_tiny("big_bird", tmp_path)).eval()
    assert model.backbone.padded_up_to == 28
    (long,) = answers(model, [40])
    answers(model, [5])
    for again in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert (answers(again, [40, 5])[0] - long).abs().max() < 1e-5
    drawn = torch.get_rng_state()
    for batch in (batch_of(model.backbone.config, [length]) for length in (40, 5)):
        torch.set_rng_state(drawn)
        model(*batch.inputs())
        assert torch.equal(torch.get_rng_state(), drawn)  # a change of attention draws no weights

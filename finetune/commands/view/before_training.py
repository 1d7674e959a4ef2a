"""The encoder with which a run began, on the tokens that the trained one reads."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel

from finetune.commands.view.encoder import EAGER, Encoder
from finetune.commands.view.parts import BeforeTraining, StartCompared
from finetune.errors import UserError
from finetune.models import pretrained
from finetune.models.loading import load_encoder
from finetune.models.untrained import untrained_encoder
from finetune.models.weight_files import load_config
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import find_run, named_run
from finetune.runs.recipe import Recipe, is_new
from finetune.runs.record import RunRecord

OF_START = ("task", "model", "seed", "init_seed")  # settings that decide random weights
GONE, OTHER_SHAPE = "gone", "other-shape"


def before_training(encoder: Encoder, inputs: dict[str, Any], after: Any) -> BeforeTraining | None:
    """The start of a run, compared with its trained encoder, whose output is `after`; None for a model of no run."""
    run = named_run(encoder.name, encoder.out)
    record = None if run is None else run.record()
    if run is None or record is None:
        return None
    name = record.model
    start = starting_encoder(run, record, encoder.out)
    if start is None:
        return BeforeTraining(start=name, why_not=GONE)
    ids = inputs["input_ids"]
    if not _same_shape(start, encoder.model, int(ids.max())):
        return BeforeTraining(start=name, why_not=OTHER_SHAPE)
    start.eval().set_attn_implementation(EAGER)
    with torch.inference_mode():
        before = start(**inputs, output_attentions=True, output_hidden_states=True)
    return BeforeTraining(start=name, random=is_new(name), compared=both_encoders(before, after, ids.shape[1]))


def both_encoders(before: Any, after: Any, tokens: int) -> StartCompared:
    """Attention and vectors of two encoders on the same tokens."""
    old, new = (torch.cat(one.attentions).numpy() for one in (before, after))
    pairs = zip(before.hidden_states, after.hidden_states, strict=True)
    return StartCompared(
        weights=old,
        moved=np.abs(old - new).sum(-1).mean(-1) / 2,
        cosines=torch.stack([torch.cosine_similarity(one[0], other[0], dim=-1) for one, other in pairs])[
            :, :tokens
        ].numpy(),
    )


def starting_encoder(run: RunFolder, record: RunRecord, out: Path) -> PreTrainedModel | None:
    """The encoder of a run before its first update; None where its files are gone or are others now."""
    try:
        if is_new(record.model):
            config = load_config(run.require_model())
            settings = {name: record.recipe[name] for name in OF_START if name in record.recipe}
            return untrained_encoder(config, Recipe(**settings))
        if record.lineage is not None:
            earlier = find_run(record.lineage.run, out)
            return None if earlier is None else load_encoder(earlier.require_model())[0]
        files = pretrained.resolve(record.model)
        return load_encoder(files.folder)[0] if files.fingerprint == record.weights else None
    except UserError:
        return None


def _same_shape(start: PreTrainedModel, trained: PreTrainedModel, largest_id: int) -> bool:
    """Whether both have the same layers and heads, and the first knows every token."""
    one, other = start.config, trained.config
    same = all(getattr(one, name) == getattr(other, name) for name in ("num_hidden_layers", "num_attention_heads"))
    return same and largest_id < one.vocab_size

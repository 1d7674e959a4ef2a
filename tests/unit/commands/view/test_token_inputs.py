"""What `finetune view` shows of tokens before the first layer, in every family."""

from pathlib import Path

import numpy as np
import torch
import transformers

from finetune.commands.view.look import encode_text, loaded_encoder
from finetune.commands.view.token_inputs import token_inputs

PAIR = ["the cat sat on the road", "a dog ran"]


def test_the_parts_of_each_family(tiny_encoder: Path) -> None:
    encoder = loaded_encoder(str(tiny_encoder), out=Path("results"))
    inputs = encode_text(encoder, PAIR)
    found = token_inputs(encoder.model, encoder.tokenizer, PAIR, inputs)
    print("FAM", encoder.model.config.model_type, found.parts, found.vectors.shape, found.given.shape, found.positions and found.positions[:3], found.words, found.numbers)

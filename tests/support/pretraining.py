"""Pre-training without a corpus: a toy language, and a script that trains heads on it in any number of processes.

python pretraining.py ENCODER OUT
"""

import sys
from pathlib import Path

import numpy as np
import torch

from finetune.inference.engine import Engine
from finetune.models.building import build_model
from finetune.models.device import build_accelerator
from finetune.models.feature import Feature
from finetune.models.head import EncoderWithHead, HeadFor
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import unwatched
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.pretraining.head import NextSentenceHead, NextWordHead, WordHead
from finetune.task_types.pretraining.pieces import NEXT, WORDS
from finetune.training.trainer import Trainer
from support.training import CPU, unscored

FIRST, COUNT = 5, 10  # ids of the words; a text repeats one


def language(head: HeadFor, folder: Path, *, rows: int) -> list[Feature]:
    """`[CLS] words [SEP]`, or two such texts, with the labels of one of the heads for pre-training."""
    tokenizer, random = load_tokenizer(folder), np.random.default_rng(0)
    before, after, mask = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id
    features = []
    for row in range(rows):
        apart, word = int(random.integers(2)), int(random.integers(COUNT))
        texts = [np.full(6, FIRST + each) for each in (word, (word + 5 * apart) % COUNT)]
        ids = np.concatenate([[before], texts[0], [after], texts[1], [after]])
        segments = np.repeat([0, 1], [8, 7])
        if head is NextWordHead:
            feature = Feature(
                row=row, input_ids=ids, token_type_ids=segments, reads=range(1, 6), label={WORDS: ids[2:7]}
            )
        else:
            positions = np.sort(random.choice([2, 3, 4, 5, 9, 10, 11, 12], 2, replace=False))
            words = ids[positions].tolist()
            ids[positions] = mask
            label = {WORDS: words} | ({NEXT: apart} if head is NextSentenceHead else {})
            feature = Feature(row=row, input_ids=ids, token_type_ids=segments, reads=positions, label=label)
        features.append(feature)
    return features


def train(head: HeadFor, folder: Path, features: list[Feature], settings: Train) -> Engine:
    """A model with this head, trained on these features."""
    model, _ = build_model(folder, head, Recipe(task="any", seed=0, train=settings), device=CPU)
    engine = Engine(model=model, accelerator=build_accelerator(CPU, "fp32"), pad_id=0, watch=unwatched)
    Trainer(engine=engine, settings=settings, data_seed=0).fit(features, unscored)
    return engine


def weights(model: EncoderWithHead) -> dict[str, torch.Tensor]:
    """What was trained, by name."""
    return {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()}


if __name__ == "__main__":
    encoder, out = map(Path, sys.argv[1:])
    settings = Train(epochs=2, batch_size=6, accumulation=1, learning_rate=1e-3, dropout=0.0)
    for each in (WordHead, NextSentenceHead, NextWordHead):
        engine = train(each, encoder, language(each, encoder, rows=20), settings)
        if engine.accelerator.is_main_process:
            torch.save([engine.accelerator.num_processes, weights(engine.model)], out / f"{each.__name__}.pt")

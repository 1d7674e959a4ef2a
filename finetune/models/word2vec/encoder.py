"""word2vec as an encoder: a BERT without layers, whose embeddings are vectors of words; made once, kept in the cache.

So all that reads the embeddings of an encoder reads these: a frozen run with a BiLSTM or a linear layer is the method
before ELMo and BERT, and the lowest row of a comparison like Table 7 of Devlin et al. 2019. As in BERT a LayerNorm
follows the embeddings: a vector has the mean 0 and the deviation 1. Positions and segments add nothing to it.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from finetune.data.atomic import write_atomically, written_file
from finetune.errors import UserError
from finetune.models.config_bounds import WITHOUT_LAYERS
from finetune.models.encoder_sizes import POSITIONS
from finetune.models.pretrained import ModelFiles
from finetune.models.word2vec.skip_gram import skip_gram_vectors
from finetune.models.word2vec.vocabulary import word_ids, word_tokenizer
from finetune.runs.events import Watcher, Working
from finetune.runs.recipe import WORD2VEC, Recipe
from finetune.storage.cache import Entry, entry, hash_of

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from transformers import PreTrainedTokenizerFast

FORMAT = 1  # of training: another one makes other vectors of the same texts and seed
WIDTH, MOST_WIDTH = 100, 1_024
BYTES_A_NUMBER = 4
LAYERED = ("lora", "freeze_layers", "reinit_layers", "keep_layers", "keep_labels")


def require_static(recipe: Recipe) -> int:
    """The width of the vectors. Raises UserError for another one, and for settings that need layers."""
    for name in LAYERED:
        if getattr(recipe, name):
            raise UserError(f"{name} with model '{recipe.model}', which has no layers", f"Leave {name} out")
    if recipe.tokenizer:
        raise UserError(f"tokenizer with model '{recipe.model}', whose tokens are words", "Leave tokenizer out")
    given = recipe.model.partition(":")[2] if recipe.model != WORD2VEC else str(WIDTH)
    if not (given.isascii() and given.isdecimal() and 0 < int(given[:9]) <= MOST_WIDTH):
        raise UserError(
            f"model '{recipe.model}': its width is from 1 to {MOST_WIDTH:,}", f"Give a number: {WORD2VEC}:{WIDTH}"
        )
    return int(given)


def word2vec_files(recipe: Recipe, texts: Sequence[str], watch: Watcher) -> ModelFiles:
    """The folder of the encoder for these texts, and a fingerprint of all that decides it.

    Raises UserError for texts in which no word comes twice, and where the cache cannot be written.
    """
    width, seed = require_static(recipe), recipe.seeds[0]
    digest = hashlib.sha256()
    for text in texts:
        digest.update(json.dumps(text).encode())
    fingerprint = hash_of([WORD2VEC, FORMAT, width, seed, digest.hexdigest()])
    kept = entry("weights", fingerprint)
    with kept.required():
        kept.read_or_make(read=dict, make=lambda: _train(kept, texts, width=width, seed=seed, watch=watch))
    return ModelFiles(name=recipe.model, folder=kept.folder, fingerprint=fingerprint)


def _train(kept: Entry, texts: Sequence[str], *, width: int, seed: int, watch: Watcher) -> None:
    """Writes an entry."""
    watch(Working("counting words"))
    tokenizer = word_tokenizer(texts)
    vectors = skip_gram_vectors(word_ids(texts, tokenizer), size=len(tokenizer), width=width, seed=seed, watch=watch)
    kept.require_room(2 * BYTES_A_NUMBER * vectors.size, what="vectors of words are written there")
    tokenizer.save_pretrained(kept.folder)
    _write(kept.folder, vectors, tokenizer)
    kept.seal({"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"})


def _write(folder: "Path", vectors: "np.ndarray", tokenizer: "PreTrainedTokenizerFast") -> None:
    """A BERT without layers whose embeddings are these vectors."""
    import torch
    from safetensors.torch import save_file
    from transformers import BertConfig, BertModel

    size, width = vectors.shape
    config = BertConfig(
        vocab_size=size,
        hidden_size=width,
        num_hidden_layers=0,
        num_attention_heads=1,
        intermediate_size=width,
        max_position_embeddings=POSITIONS,
        pad_token_id=tokenizer.pad_token_id,
        hidden_dropout_prob=0.0,
        **{WITHOUT_LAYERS: True},
    )
    model = BertModel(config, add_pooling_layer=False)
    with torch.no_grad():
        for part in model.embeddings.children():
            if isinstance(part, torch.nn.Embedding):
                part.weight.zero_()
        model.embeddings.word_embeddings.weight.copy_(torch.from_numpy(vectors))
    write_atomically(folder / "config.json", config.to_json_string(use_diff=False))
    with written_file(folder / "model.safetensors") as scratch:
        save_file(model.state_dict(), scratch, metadata={"format": "pt"})

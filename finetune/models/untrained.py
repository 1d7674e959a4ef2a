"""Untrained encoders: their folder in the cache, and their weights, which a seed draws.

What is known before the weights are drawn (config and tokenizer) is kept as a folder in the cache, so that all that
reads a model's folder reads this one too; the weights are drawn from `init_seed` when the model is built.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from finetune.data.atomic import write_atomically
from finetune.data.checksums import sha256_of
from finetune.errors import UserError
from finetune.models.encoder_sizes import size_of
from finetune.models.tokenizers.files import given_tokenizer, tokenizer_files
from finetune.runs.folder import RESULTS, with_results
from finetune.runs.recipe import Recipe
from finetune.storage.cache import FACTS, LOCK, cache_folder, entry, hash_of

if TYPE_CHECKING:
    from torch import nn
    from transformers import PretrainedConfig, PreTrainedModel

CONFIG = "config.json"
VERSION = 2  # of the initialisation: another one makes other weights of the same seed


def untrained_folder(name: str, tokenizer: str) -> tuple[Path, str]:
    """A folder with config and tokenizer but no weights, and a hash of size, tokenizer and initialisation.

    Raises UserError for a bad size, and without a tokenizer that can be used.
    """
    size = size_of(name)
    require_vocabulary(name, tokenizer)
    files = tokenizer_files(Path(tokenizer).expanduser())
    facts = [
        VERSION,
        size.layers,
        size.width,
        size.heads,
        *((file.name, sha256_of(file)) for file in files),
    ]
    fingerprint = hash_of(facts)
    kept = entry("untrained", fingerprint)
    folder = kept.folder

    def make() -> None:
        made = given_tokenizer(files[0].parent, tokenizer)
        made.save_pretrained(folder)
        write_atomically(folder / CONFIG, size.config(made).to_json_string(use_diff=False))
        kept.seal([file.name for file in folder.iterdir() if file.is_file() and file.name not in (FACTS, LOCK)])

    with kept.required():
        kept.read_or_make(lambda facts: facts, make)
    return folder, fingerprint


def require_vocabulary(name: str, tokenizer: str, *, texts: str = "TEXTS") -> None:
    """Raises UserError for an untrained encoder without a tokenizer, with the command that makes one of the texts."""
    if not tokenizer:
        train = with_results("tokenizer", texts, "-o", "vocabulary", out=RESULTS)
        raise UserError(
            f"model '{name}' needs a vocabulary",
            f"Train one from texts, `{train}`, and use it: model={name} tokenizer=vocabulary",
        )


def is_untrained(folder: Path) -> bool:
    """Whether a folder is one that `untrained_folder` made: there are no weights in it."""
    return folder.parent == cache_folder("untrained")


def untrained_encoder(config: "PretrainedConfig", recipe: Recipe) -> "PreTrainedModel":
    """An encoder with new weights, by `init_seed`: normal, truncated at two deviations, as in the original code.

    The deviation is 0.02 at BERT base's width, and larger in a narrower encoder, whose sums have fewer terms.

    Raises UserError for settings that would leave them random.
    """
    import torch
    from transformers import AutoModel

    from finetune.models.freezing import reinitialise

    for name in ("frozen", "lora", "freeze_layers"):
        if getattr(recipe, name):
            raise UserError(
                f"{name} with model '{recipe.model}': its weights are random, and would stay so", f"Leave {name} out"
            )
    encoder: PreTrainedModel = AutoModel.from_config(config, dtype=torch.float32, trust_remote_code=False)
    torch.manual_seed(recipe.seeds[0])
    reinitialise(encoder, spread=config.initializer_range)
    return encoder


def without_dropout(model: "nn.Module") -> None:
    """Turns every dropout off, and leaves the config unchanged, which says what fine-tuning uses."""
    from torch import nn

    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0

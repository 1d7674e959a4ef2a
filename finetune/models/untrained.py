"""Untrained encoders: their folder in the cache, and their weights, which a seed draws.

What is known before the weights are drawn (config and tokenizer) is kept as a folder in the cache, so that all that
reads a model's folder reads this one too; the weights are drawn from `init_seed` when the model is built.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from finetune.data.atomic import write_atomically
from finetune.data.checksums import sha256_of
from finetune.data.paths import is_folder
from finetune.errors import UserError
from finetune.models.encoder_sizes import size_of
from finetune.models.tokenizers.load import read_tokenizer
from finetune.runs.folder import RESULTS, with_results
from finetune.runs.recipe import Recipe
from finetune.storage.cache import FACTS, LOCK, cache_folder, entry, hash_of

if TYPE_CHECKING:
    from torch import nn
    from transformers import PretrainedConfig, PreTrainedModel

CONFIG = "config.json"
TOKENIZER_JSON = "tokenizer.json"
PARTS = ("tokenizer*.json", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt", "*.model")
VERSION = 2  # of the initialisation: another one makes other weights of the same seed


def untrained_folder(name: str, tokenizer: str) -> tuple[Path, str]:
    """A folder with config and tokenizer but no weights, and a hash of size, tokenizer and initialisation.

    Raises UserError for a bad size, and without a tokenizer that can be used.
    """
    size = size_of(name)
    require_vocabulary(name, tokenizer)
    files = _tokenizer_files(Path(tokenizer).expanduser())
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
        made = read_tokenizer(files[0].parent)
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


def _tokenizer_files(given: Path) -> list[Path]:
    """The files of a tokenizer, which a folder or its tokenizer.json names. Raises UserError where there is none."""
    folder, remedy = given.parent if given.name == TOKENIZER_JSON else given, "`finetune tokenizer TEXTS -o FOLDER`"
    if not is_folder(folder):
        raise UserError(f"tokenizer folder {folder} does not exist", f"{remedy} makes one")
    files = sorted({file for pattern in PARTS for file in folder.glob(pattern)})
    if not any(file.name in (TOKENIZER_JSON, "vocab.txt", "vocab.json") or file.suffix == ".model" for file in files):
        raise UserError(
            f"folder {folder} has no tokenizer ({TOKENIZER_JSON}, vocab.txt or a SentencePiece .model)",
            f"{remedy} makes one",
        )
    return files


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

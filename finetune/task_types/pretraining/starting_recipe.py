"""The default recipe for unlabelled text: adapts an encoder, or with `model=new:SIZE` trains one from scratch."""

from collections.abc import Iterator, Mapping
from typing import Any

from finetune.runs.recipe import is_new
from finetune.task_types.pretraining.columns import Text
from finetune.task_types.pretraining.own import reading_lines
from finetune.task_types.pretraining.reader import CorpusReader

ADAPTING = {"batch_size": 32, "updates": 2_000, "learning_rate": 1e-4}
FROM_SCRATCH = {"batch_size": 16, "updates": 8_000, "learning_rate": 1e-3}  # results/simplewiki: small batches win
MASK_SHARE = 0.3  # from scratch, where 15 % learn more slowly


def text_recipe(path: str, model: str, settings: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe, before the settings are applied; `given` are those of the data."""
    train = dict(FROM_SCRATCH if is_new(model) else ADAPTING)
    if "train.epochs" in settings:
        del train["updates"]
    masks = {"mask_share": MASK_SHARE} if is_new(model) else {}
    return {
        "task": path,
        "model": model,
        "max_length": Text.max_length,
        "options": {"shape": Text.name, **masks, **given},
        "train": train,
    }


def text_comments(read: CorpusReader) -> Iterator[str]:
    """How the text is read, and what the recipe does."""
    yield "# The text as it is read:"
    yield from (f"#   {line}" for line in reading_lines(read))
    yield "# Adapts the encoder to the text; `model=RUN` then fine-tunes it on a task. An encoder from scratch, with a"
    yield "# vocabulary of the text or one named by tokenizer: finetune init FILE model=new:mini"

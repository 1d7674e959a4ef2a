"""Which vector of a text fits an encoder: what `pooling = "auto"` means.

A head is learned from few rows only where its input already tells texts apart: the vector that the encoder was trained
with. A mean has no class in transformers, so with many rows, where both are level, the family's own vector is read.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.data.paths import read_small
from finetune.errors import UserError, first_line
from finetune.models.config_bounds import saved_settings
from finetune.models.families import FAMILIES, is_left_to_right
from finetune.models.lora import POOLER
from finetune.models.weight_files import weight_names
from finetune.runs.recipe import Recipe

if TYPE_CHECKING:
    from transformers import PretrainedConfig

FEW_ROWS = 1_000  # training rows below which the vector decides more than the format of the saved model
MODULES = "modules.json"  # sentence-transformers' list of a model's parts
MOST_BYTES = 1_000_000
LINEAR = ("logistic", "contrastive")  # solvers that fit a linear head to vectors, whose lengths say little of a text
CLS, MEAN, UNIT, FAMILY = "cls", "mean", "unit", "family"


def fitting_pooling(recipe: Recipe, folder: Path, config: "PretrainedConfig", *, rows: int, pooled: bool = True) -> str:
    """A recipe's `pooling` for so many training rows, `auto` resolved; `pooled`: a head reads the vector of a text.

    A head that is kept reads the vector that it was trained on.
    """
    if recipe.pooling != "auto":
        return recipe.pooling
    if recipe.keep_labels:
        return str(saved_settings(config).get("pooling", FAMILY))
    many = rows >= FEW_ROWS and not recipe.frozen
    other = not pooled or recipe.bilstm or recipe.layers != "last" or recipe.adapter
    if many or other:
        return FAMILY
    found = trained_pooling(folder, config)
    return UNIT if found == MEAN and recipe.train.solver in LINEAR else found


def trained_pooling(folder: Path, config: "PretrainedConfig") -> str:
    """The vector that an encoder was trained with; the mean where it has no pretrained pooler."""
    if is_left_to_right(config):
        return FAMILY  # the last token's
    if (saved := str(saved_settings(config).get("pooling", ""))) or (saved := _sentence_transformers(folder)):
        return saved
    family = FAMILIES.get(config.model_type)
    own = (
        family is not None
        and family.sentence.dense is None
        and any(f"{POOLER}." in name for name in weight_names(folder))
    )
    return FAMILY if own else MEAN


def _sentence_transformers(folder: Path) -> str:
    """The pooling in the folder's modules.json; empty where it names none of ours."""
    if not (folder / MODULES).is_file():
        return ""
    paths = [part.get("path", "") for part in _json(folder / MODULES) if str(part.get("type")).endswith(".Pooling")]
    if len(paths) != 1 or Path(paths[0]).name != paths[0]:
        return ""
    settings = _json(folder / paths[0] / "config.json")
    named = [name for name, mode in ((CLS, "cls_token"), (MEAN, "mean_tokens")) if settings.get(f"pooling_mode_{mode}")]
    return named[0] if len(named) == 1 else str(settings.get("pooling_mode", "")) * (not named)


def _json(file: Path) -> Any:
    """A JSON file. Raises UserError where it cannot be parsed."""
    try:
        return json.loads(read_small(file, most=MOST_BYTES))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: is not JSON ({first_line(error)})", "Restore it, or set pooling=mean") from error

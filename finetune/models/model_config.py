"""Reads the configuration of a model folder, of whatever family."""

from pathlib import Path

from transformers import AutoConfig, PretrainedConfig

from finetune.errors import THEIRS, UserError, first_line
from finetune.models.config_bounds import FIXED, REMEDY, require_config
from finetune.models.weight_files import weight_names

NEW_WORDS = "lm_predictions."  # a DeBERTa's head for words in the original code, which transformers' first one was not


def load_config(folder: Path) -> PretrainedConfig:
    """The encoder's configuration; code in the folder is not run. Raises UserError where there is none."""
    require_config(folder)
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        for name, value in FIXED.items():
            setattr(config, name, value)
        if getattr(config, "legacy", False) and any(name.startswith(NEW_WORDS) for name in weight_names(folder)):
            config.legacy = False  # as DeBERTa-v3 was published: its config does not say so
    except THEIRS:
        raise
    except Exception as error:  # a config of a wrong type makes transformers fail in any way
        raise UserError(
            f"{folder}: does not contain a model that transformers can load ({first_line(error)})", REMEDY
        ) from error
    return config

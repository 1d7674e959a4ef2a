"""The head of a checkpoint, which further pre-training begins with."""

from pathlib import Path

import transformers

from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.model import EncoderWithHead
from finetune.models.untrained import is_untrained
from finetune.models.weight_files import from_pretrained


def load_head(model: EncoderWithHead, folder: Path) -> list[str]:
    """Loads the weights of a model's head that a checkpoint has; the names of the others, which stay new.

    One in finetune's own format has a head for a task that was fine-tuned, and none for pre-training; nor has one for
    which transformers has no class.
    """
    own = model.head.to_checkpoint()
    if is_untrained(folder) or (folder / OWN_WEIGHTS).is_file() or not model.head.has_class:
        return sorted(own)
    shell, info = from_pretrained(getattr(transformers, model.head.auto_class), folder, config=model.backbone.config)
    new = set(info["missing_keys"]) & own.keys()
    found = {name: tensor for name, tensor in shell.state_dict().items() if name not in new}
    model.head.from_checkpoint(own | found)
    return sorted(new)

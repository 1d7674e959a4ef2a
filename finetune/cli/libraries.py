"""What a command does before it imports torch and transformers, which takes seconds."""

import os
import sys
from collections.abc import Sequence

from finetune.cli.terminal import echo
from finetune.training.targets import Planned


def first_process() -> bool:
    """Whether this process prints: of those that a launcher started, one does."""
    return os.environ.get("RANK", "0") == "0"


def load_libraries(doing: str = "") -> None:
    """Imports the libraries; before that takes seconds, prints on standard error what the command is doing.

    transformers and the Hub's client show no bars and no warnings.
    """
    if doing and first_process() and "torch" not in sys.modules:
        echo(doing, err=True)
    import transformers
    from huggingface_hub.utils import logging

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]


def loading(planned: Sequence[Planned]) -> str:
    """`glue-mrpc: loading google-bert/bert-base-uncased`."""
    names = dict.fromkeys(one.name for one in planned)
    models = dict.fromkeys(one.recipe.model for one in planned)
    several = f" ({len(planned)} runs)" if len(planned) > 1 else ""
    return f"{', '.join(names)}: loading {', '.join(models)}{several}"

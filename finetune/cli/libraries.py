"""What a command does before it imports torch and transformers, which takes seconds."""

import os
import sys

from finetune.cli.terminal import echo


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

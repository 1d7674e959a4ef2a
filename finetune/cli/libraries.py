"""Imports torch and transformers, which takes seconds, with a message."""

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from finetune.cli.terminal import say
from finetune.runs import interrupts
from finetune.runs.environment import first_process
from finetune.task_types.resolved_run import ResolvedRun


def load_libraries(doing: str = "", *modules: str) -> None:
    """Imports the libraries and these modules, which need them, after printing `doing` on standard error.

    Silences progress bars and warnings of transformers and the Hub client.
    """
    if doing and first_process() and "torch" not in sys.modules:
        say(doing, err=True)
    with interrupts.held(), _uncollected():
        import torch  # noqa: F401 - first: where it is absent, the error is one line, and transformers prints nothing
        import transformers
        from huggingface_hub.utils import logging

        for module in modules:
            import_module(module)

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Imports without the garbage collector, which would look through all of their objects again and again: a quarter
    of the time. What was imported stays, so that it need not be looked through later either, nor for a second at exit.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was:
            gc.enable()


def load_for(model: str, doing: str, *modules: str) -> None:
    """`load_libraries` for what is done with a model; for an export these modules alone, without a message: they need
    neither torch nor transformers.
    """
    from finetune.inference.export_facts import is_export

    if not is_export(model):
        load_libraries(doing, *modules)
        return
    with interrupts.held():
        for module in modules:
            import_module(module)


def loading(planned: Sequence[ResolvedRun]) -> str:
    """`glue-mrpc: loading PyTorch and transformers, then google-bert/bert-base-uncased`."""
    names = dict.fromkeys(one.name for one in planned)
    models = dict.fromkeys(one.recipe.model for one in planned)
    several = f" ({len(planned)} runs)" if len(planned) > 1 else ""
    return f"{', '.join(names)}: loading PyTorch and transformers, then {', '.join(models)}{several}"

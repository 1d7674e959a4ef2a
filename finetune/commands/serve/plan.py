"""What is served and to whom, in plain values that another process can be told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from finetune.commands.serve.app import build_app, unlogged
from finetune.commands.serve.guard import Access, Guard
from finetune.commands.serve.loading import load_models
from finetune.commands.serve.served_model import ServedModel
from finetune.commands.serve.served_models import ServedModels
from finetune.inference.model_source import ModelSource
from finetune.runs.events import Watcher, unwatched


@dataclass(frozen=True, kw_only=True)
class ServePlan:
    """The models, those who may ask, and whether `/about` has rows of dev, and the log the rows of requests."""

    sources: Sequence[ModelSource]
    engine: str | None
    access: Access
    examples: bool
    log_texts: bool

    def models(self, *, watch: Watcher = unwatched) -> list[ServedModel]:
        """The models, loaded. Raises UserError as `load_models` does."""
        return load_models(self.sources, engine=self.engine, watch=watch)

    def models_on_cpu(self, *, watch: Watcher = unwatched) -> list[ServedModel]:
        """The models, loaded where no device is in use: to know that they can be, and what they are."""
        sources = [replace(source, device="cpu") for source in self.sources]
        return replace(self, sources=sources).models(watch=watch)

    def app(
        self, models: ServedModels, *, log: Callable[[str], None], log_rows: Callable[[Sequence[Any]], None]
    ) -> Guard:
        """The application of these models; `log_rows` is for the rows that the plan has logged."""
        log_rows = log_rows if self.log_texts else unlogged
        return build_app(models, access=self.access, examples=self.examples, log=log, log_rows=log_rows)

"""Lineage: the chain of runs from which a run's encoder comes, as records keep it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from finetune.runs.toml import is_new

SEEDS = ("seed", "init_seed", "data_seed")
PREFIX = "lineage."
RUN_ID = r"^\w[\w.-]{0,99}$"  # part of a path


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """An earlier run.

    `settings` are those not at their default (dotted keys), `model` and `weights` its initial encoder, and `lineage`
    that of this encoder where it is of a run too.
    """

    run: str
    task: str
    task_version: int
    data: str
    model: str
    weights: str
    precision: str
    seed: int
    settings: dict[str, Any] = field(default_factory=dict)
    lineage: "Lineage | None" = None

    __pydantic_config__ = {"extra": "forbid", "strict": True}  # noqa: RUF012 - read from the class by pydantic

    def __post_init__(self) -> None:
        if not re.match(RUN_ID, self.run) or self.seed < 0:
            raise ValueError("lineage is not of a run")

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """The lineage that a record's JSON has."""
        inner = facts.get("lineage")
        return cls(**{**facts, "lineage": inner and cls.of(inner)})

    @property
    def checkpoint(self) -> str:
        """The name of the encoder that is of no run, from which all began."""
        return self.model if self.lineage is None else self.lineage.checkpoint

    @property
    def settings_without_seeds(self) -> dict[str, Any]:
        """All that decides the encoder's weights, but for the seeds of each run of the lineage."""
        facts = {name: getattr(self, name) for name in ("task", "task_version", "data", "precision")}
        settings = {key: value for key, value in self.settings.items() if key not in SEEDS}
        first = encoder_of(self.model, self.weights, self.settings.get("tokenizer"))
        began = first if self.lineage is None else self.lineage.settings_without_seeds
        return facts | {"settings": settings, "began": began}

    @property
    def flat(self) -> dict[str, Any]:
        """What runs can be selected by, with dotted keys: `lineage.task`, `lineage.train.epochs`, `lineage.model`."""
        facts = {**self.settings, **{name: getattr(self, name) for name in ("run", "task", "model", "seed")}}
        facts |= {} if self.lineage is None else self.lineage.flat
        return {f"{PREFIX}{key}": value for key, value in facts.items()}

    @property
    def words(self) -> str:
        """`minilm, trained on corpus.txt (0a1b2c3d4e), then on mrpc (1b2c3d4e5f)`."""
        began = f"{self.model}, trained" if self.lineage is None else f"{self.lineage.words}, then"
        return f"{began} on {self.task} ({self.run})"


def encoder_of(model: str, weights: str, tokenizer: str | int | None) -> str:
    """What an encoder that is of no run is known by: the hash of its weights, but its size where it is new and its
    vocabulary is trained on the text, since a share of the text by another seed has another vocabulary.
    """
    return model if is_new(model) and not (isinstance(tokenizer, str) and tokenizer) else weights


def is_run_specific(key: str) -> bool:
    """Whether a dotted key is the seed or the id of a run of a lineage."""
    return key.startswith(PREFIX) and key.rpartition(PREFIX)[2] in ("run", *SEEDS)


def lineage_words(lineage: Lineage | None) -> Mapping[str, str]:
    """The lineage as a fact; nothing without one."""
    return {} if lineage is None else {"encoder": lineage.words}

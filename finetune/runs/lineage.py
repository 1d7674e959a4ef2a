"""Lineage: the chain of runs from which a run's encoder comes, as records keep it."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from finetune.runs.recipe import is_new
from finetune.runs.record_parts import Id, Whole

SEEDS = ("seed", "init_seed", "data_seed")
PREFIX = "lineage."
OF_ONE_RUN = ("run", *SEEDS)  # what may differ between runs that are summarised together


class Lineage(BaseModel):
    """An earlier run.

    `settings` are those not at their default (dotted keys), `model` and `weights` its initial encoder, and `lineage`
    that of this encoder where it is of a run too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    run: Id
    task: str
    task_version: int
    data: str
    model: str
    weights: str
    precision: str
    seed: Whole
    settings: dict[str, Any] = {}
    lineage: "Lineage | None" = None

    @property
    def checkpoint(self) -> str:
        """The name of the encoder that is of no run, from which all began."""
        return self.model if self.lineage is None else self.lineage.checkpoint

    @property
    def but_seeds(self) -> dict[str, Any]:
        """All that decides the encoder's weights, but for the seeds of each run of the lineage."""
        facts = self.model_dump(include={"task", "task_version", "data", "precision"})
        facts["settings"] = {key: value for key, value in self.settings.items() if key not in SEEDS}
        began = encoder_of(self.model, self.weights, self.settings.get("tokenizer"))
        return facts | {"began": began if self.lineage is None else self.lineage.but_seeds}

    @property
    def flat(self) -> dict[str, Any]:
        """What runs can be selected by, with dotted keys: `lineage.task`, `lineage.train.epochs`, `lineage.model`."""
        facts = {**self.settings, **self.model_dump(include={"run", "task", "model", "seed"})}
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
    given = isinstance(tokenizer, str) and tokenizer
    return model if is_new(model) and not given else weights


def of_one_run(key: str) -> bool:
    """Whether a dotted key is the seed or the id of a run of a lineage."""
    return key.startswith(PREFIX) and key.rpartition(PREFIX)[2] in OF_ONE_RUN


def lineage_words(lineage: Lineage | None) -> Mapping[str, str]:
    """The lineage as a fact; nothing without one."""
    return {} if lineage is None else {"encoder": lineage.words}

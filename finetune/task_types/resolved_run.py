"""A recipe resolved: with the task, and so the data, that its name means. What trains or checks takes this, no name."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from finetune.runs.recipe import Recipe
from finetune.runs.record import DataFinding
from finetune.task_types.options import resolved
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task


@dataclass(frozen=True, kw_only=True)
class ResolvedRun:
    """A run before it starts: the name of its recipe, the recipe, and its task without and with options.

    `first` is the run whose encoder it starts from, if its model is a recipe; once that is finished, `encoder` is its
    folder. `typed` are the words behind `finetune run` that give this run alone; empty where none are known. `notes`
    say which run a name was taken for, and `findings` are errors and warnings on its data. `baselines` are predictions
    by split and method that were made before training; empty where they are made after it.
    """

    name: str
    recipe: Recipe
    default: Task
    task: Task
    first: "ResolvedRun | None" = None
    encoder: Path | None = None
    typed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[DataFinding, ...] = ()
    baselines: Mapping[str, dict[str, list[Answer]]] = field(default_factory=dict)

    @property
    def before(self) -> "list[ResolvedRun]":
        """The runs before this one, the first first; their encoder begins with that one's model."""
        return [] if self.first is None else [*self.first.before, self.first]

    def renamed(self, name: str) -> "ResolvedRun":
        """With another name of the task, such as that of the file that rows in memory were read from."""
        return replace(self, default=replace(self.default, name=name), task=replace(self.task, name=name))

    def with_recipe(self, recipe: Recipe) -> "ResolvedRun":
        """The run of a recipe with the same task before options, whose data is not read again."""
        run = resolved_run(recipe, name=self.name, default=self.default)
        return replace(run, notes=self.notes, findings=self.findings)


def resolved_run(recipe: Recipe, *, name: str = "", default: Task | None = None) -> ResolvedRun:
    """The run of a recipe; `default` is its task without options, where that is known.

    Raises UserError for a task, data or options that cannot be used.
    """
    default, task = resolved(recipe.task, recipe.options, default=default)
    return ResolvedRun(name=name, recipe=recipe, default=default, task=task)

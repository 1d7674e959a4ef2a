"""A recipe resolved: with the task, and so the data, that its name means. What trains or checks takes this, no name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from finetune.errors import UserError, nearest
from finetune.metrics.metric import Metric
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import Distil
from finetune.task_types.options import resolved
from finetune.task_types.task import Task

LONGEST_JOINED = 100  # characters of the names of several tasks, which are the name of a folder


@dataclass(frozen=True, kw_only=True)
class ResolvedRun:
    """A run before it starts: the name of its recipe, the recipe, and its task without and with options.

    `first` is the run whose encoder it starts from, if its model is a recipe; once that is finished, `encoder` is its
    folder. `teachers` are the runs whose answers it learns, and `plain` is the same run without them, once finished.
    A run of several tasks has `members`: each task as it would be alone. Its own task has their names. `typed` are the
    words behind `finetune run` that give this run alone; empty where none are known.
    """

    name: str
    recipe: Recipe
    default: Task
    task: Task
    first: "ResolvedRun | None" = None
    encoder: Path | None = None
    teachers: tuple[Path, ...] = ()
    plain: Path | None = None
    members: "tuple[ResolvedRun, ...]" = ()
    typed: tuple[str, ...] = ()

    @property
    def tasks(self) -> list[Task]:
        """The tasks that it trains."""
        return [one.task for one in self.members] or [self.task]

    @property
    def each_alone(self) -> "list[ResolvedRun]":
        """The members with the settings and the encoder that it has now."""
        alone = zip(self.members, self.recipe.singles, strict=True)
        return [replace(one, recipe=recipe, encoder=self.encoder, first=self.first) for one, recipe in alone]

    def require_one_task(self) -> None:
        """Raises UserError for a recipe of several tasks together."""
        if self.members:
            names = ", ".join(task.name for task in self.tasks)
            raise UserError(f"{self.name} is a recipe of several tasks together: {names}", "Name that of one task")

    @property
    def before(self) -> "list[ResolvedRun]":
        """The runs before this one, the first first; their encoder begins with that one's model."""
        return [] if self.first is None else [*self.first.before, self.first]

    @property
    def without_teachers(self) -> "ResolvedRun":
        """The same run on labels alone."""
        recipe = self.recipe.model_copy(update={"distil": Distil()})
        return replace(self, recipe=recipe, teachers=())

    def renamed(self, name: str) -> "ResolvedRun":
        """With another name of the task, such as that of the file that rows in memory were read from."""
        return replace(self, default=replace(self.default, name=name), task=replace(self.task, name=name))

    def with_recipe(self, recipe: Recipe) -> "ResolvedRun":
        """The run of a recipe with the same teachers and task before options, whose data is not read again."""
        return replace(resolved_run(recipe, name=self.name, default=self.default), teachers=self.teachers)


def resolved_run(recipe: Recipe, *, name: str = "", default: Task | None = None) -> ResolvedRun:
    """The run of a recipe; `default` is its task without options, where that is known.

    Raises UserError for a task, data or options that cannot be used.
    """
    if recipe.together.tasks:
        return resolved_together(recipe, [resolved_run(one, name=name) for one in recipe.singles], name=name)
    default, task = resolved(recipe.task, recipe.options, default=default)
    return ResolvedRun(name=name, recipe=recipe, default=default, task=task)


def resolved_together(recipe: Recipe, members: Sequence[ResolvedRun], *, name: str) -> ResolvedRun:
    """The run of several tasks, which are sorted by their names, so that their order decides nothing.

    Raises UserError for a task that is there twice, for a weight of no task, and for one whose headline has no mean
    with the others'.
    """
    ordered = sorted(zip(members, recipe.together.tasks, strict=True), key=lambda pair: pair[0].task.name)
    names = [one.task.name for one, _ in ordered]
    require_mixable([one.task for one, _ in ordered])
    _require_known(recipe.together.weights, names)
    tasks = [
        given.model_copy(update={"max_length": given.max_length or recipe.max_length, "task": one.recipe.task})
        for one, given in ordered
    ]
    joined = "+".join(names)
    whole = joined if len(joined) <= LONGEST_JOINED else f"{names[0]}+{len(names) - 1} more"
    sorted_recipe = recipe.model_copy(
        update={"task": whole, "together": recipe.together.model_copy(update={"tasks": tasks})}
    )
    first = ordered[0][0]
    return ResolvedRun(
        name=name, recipe=sorted_recipe, default=replace(first.default, name=whole),
        task=replace(first.task, name=whole), members=tuple(one for one, _ in ordered),
    )  # fmt: skip


def _require_known(weights: Mapping[str, float], names: Sequence[str]) -> None:
    """Raises UserError for a weight of no task."""
    if unknown := next((name for name in weights if name not in names), None):
        raise UserError(
            f"together.weights.{unknown}: no task is called so",
            f"{nearest(unknown, list(names))}The tasks are {', '.join(names)}",
        )


def require_mixable(tasks: Sequence[Task]) -> None:
    """Raises UserError for a task that is there twice, and for one whose headline has no mean with the others'."""
    names = [task.name for task in tasks]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(
            f"{twice} is there twice: several tasks together are different ones",
            "Name each once, recipes without a [grid]; of two files of one name, rename one",
        )
    for task in tasks:
        headline = task.metrics[0]
        if headline.scale != Metric.scale or not headline.greater_is_better or headline.magnitudes:
            raise UserError(
                f"{task.name}: its headline score, {headline.name}, has no mean with those of other tasks",
                "Run it alone first, and start the others from it: model=RUN",
            )

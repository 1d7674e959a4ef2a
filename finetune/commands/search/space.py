"""The space of a search: a range or a list of choices for each setting, from a TOML file or a recipe's grid."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeGuard

from finetune.errors import NAME_CHARS, UserError, nearest, shown_value
from finetune.runs.grid import VARIANT, full_name
from finetune.runs.lineage import SEEDS
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_faults import setting_names

BOUNDS = ("low", "high", "log", "step")
FIXED = (  # not searched
    "task", "grid", "options", *SEEDS, "held_out.share", "held_out.fold", "held_out.seed", "distil.teacher",
)  # fmt: skip
EXAMPLE = "Write { low = 1e-5, high = 1e-3, log = true } or a list of values"


@dataclass(frozen=True, kw_only=True)
class Choices:
    """A setting with one of several values."""

    values: Sequence[Any]

    def points(self) -> Sequence[Any] | None:
        """Every value."""
        return self.values

    def has(self, value: Any) -> bool:
        """Whether a value is one of them."""
        return value in self.values


@dataclass(frozen=True, kw_only=True)
class Range:
    """A setting with a number from `low` to `high`, both included: whole or not, in steps, or by its logarithm."""

    low: float
    high: float
    whole: bool
    log: bool = False
    step: float | None = None

    def points(self) -> Sequence[Any] | None:
        """Every value; None where there are infinitely many."""
        if self.low == self.high:
            return [self.low]
        step = self.step or (1 if self.whole else None)
        if step is None:
            return None
        return [self.low + step * number for number in range(math.floor((self.high - self.low) / step + 1e-9) + 1)]

    def has(self, value: Any) -> bool:
        """Whether a value is in the range, and on one of its steps."""
        if not _is_number(value) or not self.low <= value <= self.high:
            return False
        points = None if self.step is None else self.points()
        return points is None or any(math.isclose(value, point) for point in points)


Dimension = Choices | Range
Space = Mapping[str, Dimension]


def parse_space(table: Mapping[str, Any], recipe: Recipe, *, options: Sequence[str], origin: str) -> Space:
    """The axes of a space by dotted keys, checked against the recipe; `options` are those of its task.

    Raises UserError for an unknown key, a value that the setting does not allow, and an axis without a value.
    """
    every = {full_name(key): given for key, given in _walk(table)}
    for key in every:
        _require_known(key, options, origin)
    fits = _Fits(recipe=recipe, axes=every, origin=origin)
    space = {key: _axis(key, given, fits) for key, given in every.items()}
    if not space:
        raise UserError(f"{origin}: the space has no settings", f"{EXAMPLE} for each setting to search")
    return space


def points_in(space: Space) -> int | None:
    """The number of settings in a space; None where there are infinitely many."""
    every = [axis.points() for axis in space.values()]
    return None if None in every else math.prod(len(points or ()) for points in every)


def every_point(space: Space) -> list[dict[str, Any]]:
    """All settings of a finite space, in the order of a grid."""
    every = [axis.points() or () for axis in space.values()]
    return [dict(zip(space, values, strict=True)) for values in itertools.product(*every)]


def _walk(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """(dotted key, axis as given): a table is a section, unless it has a bound or its key is a setting."""
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        name = f"{prefix}{key}"
        section = isinstance(value, dict) and not set(value) & set(BOUNDS) and name not in setting_names(Recipe)
        found += _walk(value, f"{name}.") if section or name == "options" else [(name, value)]
    return found


@dataclass(frozen=True, kw_only=True)
class _Fits:
    """Checks single values of the axes as given."""

    recipe: Recipe
    axes: Mapping[str, Any]
    origin: str

    def require(self, key: str, value: Any) -> None:
        """Raises UserError for a value that is allowed neither alone nor with the first or last values of others."""
        try:
            self.recipe.with_settings({key: value}, origin=self.origin)
        except UserError:
            if not any(self._fits(self._others(end) | {key: value}) for end in (0, -1)):
                raise

    def _fits(self, settings: dict[str, Any]) -> bool:
        try:
            self.recipe.with_settings(settings, origin=self.origin)
        except UserError:
            return False
        return True

    def _others(self, end: int) -> dict[str, Any]:
        lists = {key: given if isinstance(given, list) else _bounds(given) for key, given in self.axes.items()}
        return {key: values[end] for key, values in lists.items() if values}


def _bounds(given: Any) -> list[Any]:
    return [given[name] for name in ("low", "high") if name in given] if isinstance(given, dict) else []


def _axis(key: str, given: Any, fits: _Fits) -> Dimension:
    origin = fits.origin
    if isinstance(given, dict):
        return _range(key, given, fits)
    if not isinstance(given, list):
        raise UserError(f"{origin}: {key} is {shown_value(given)}, neither a range nor a list", EXAMPLE)
    if not given:
        raise UserError(f"{origin}: {key} is an empty list", "Give it values, or remove the key")
    for value in given:
        fits.require(key, value)
    return Choices(values=tuple(value for index, value in enumerate(given) if value not in given[:index]))


def _require_known(key: str, options: Sequence[str], origin: str) -> None:
    if key == f"options.{VARIANT}":
        raise UserError(f"{origin}: a search has no {VARIANT}", "List each setting with its values")
    known = [name for name in setting_names(Recipe) if name not in FIXED] + [f"options.{name}" for name in options]
    if key in known:
        return
    if key in FIXED:
        raise UserError(f"{origin}: '{key}' cannot be searched", "Remove it")
    short = {name.rsplit(".", 1)[-1]: name for name in known}
    last = key.removeprefix("options.")
    close = [last] if last in short else get_close_matches(last[:NAME_CHARS], short, n=1)
    hint = f"Did you mean '{short[close[0]]}'? " if close else nearest(last, known)
    raise UserError(f"{origin}: there is no setting '{last}'", f"{hint}`finetune show RECIPE` lists the settings")


def _range(key: str, given: Mapping[str, Any], fits: _Fits) -> Range:
    where = f"{fits.origin}: {key}"
    if unknown := [name for name in given if name not in BOUNDS]:
        raise UserError(f"{where} has no '{unknown[0]}'", f"{nearest(unknown[0], list(BOUNDS))}{EXAMPLE}")
    if missing := [name for name in ("low", "high") if name not in given]:
        raise UserError(f"{where} has no {missing[0]}", EXAMPLE)
    low, high, log, step = given["low"], given["high"], given.get("log", False), given.get("step")
    for value in (low, high, *([] if step is None else [step])):
        if not _is_number(value):
            raise UserError(f"{where}: {shown_value(value)} is not a number", EXAMPLE)
    for value in (low, high):
        fits.require(key, value)
    if not isinstance(log, bool):
        raise UserError(f"{where}: log is {shown_value(log)}", "Write log = true, or leave it out")
    if low > high:
        raise UserError(f"{where} is empty: low is {low} and high is {high}", "Exchange them")
    if log and low <= 0:
        raise UserError(f"{where}: low is {low}, which has no logarithm", "Give a low over 0, or leave log out")
    whole = _is_whole(key, (low, high))
    if step is not None and (step <= 0 or log or (whole and not isinstance(step, int))):
        why = "and log exclude each other" if log else f"is {step}, not {'a whole number ' * whole}over 0"
        raise UserError(f"{where}: step {why}", "Leave step out, or change it")
    return Range(low=low, high=high, whole=whole, log=log, step=step)


def _is_whole(key: str, bounds: Sequence[Any]) -> bool:
    """Whether a setting is a whole number; an option of a task if its bounds are."""
    allowed = setting_names(Recipe).get(key)
    return all(isinstance(one, int) for one in bounds) if allowed is None else allowed.startswith("a whole number")


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

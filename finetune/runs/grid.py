"""Expands a recipe with a `[grid]` table, or with several seeds, to single-run recipes."""

import itertools
import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from finetune.errors import UserError, shown_value
from finetune.runs.recipe import OptionNames, Recipe
from finetune.runs.recipe_tables import Train
from finetune.runs.toml import flat

VARIANT = "variant"  # the key whose values are tables of settings set together
SETTINGS_SHOWN = 5
MOST_RUNS = 10_000  # of one recipe
PERCENTAGES, SHARES = "Give percentages, such as 10%,25%,50%,100%", "Give shares, such as [0.1, 0.25, 0.5, 1]"
FEWEST_SIZES, MOST_SIZES = 2, 20
SEEN_BY_LOGISTIC = {"solver", "precision"}  # of the settings of `train`


def set_by(grid: dict[str, list[Any]]) -> list[str]:
    """Every setting that a grid sets, those of its variants once, by full names: `options.fold` also for `fold`."""
    given = grid.get(VARIANT)
    tables = [table for table in given if isinstance(table, dict)] if isinstance(given, list) else []
    variants = [key for table in tables for key in flat(table)]
    return [*map(full_name, dict.fromkeys(variants)), *(full_name(key) for key in grid if key != VARIANT)]


def require_set_once(settings: Mapping[str, Any], names: Iterable[str], *, origin: str) -> None:
    """Raises UserError for a setting among `names`, those of a grid, be it `fold`, `options.fold` or in a table."""
    given = {full_name(key) for key in (*settings, *flat(dict(settings)))}
    if both := sorted(given & set(names)):
        raise UserError(f"{origin}: its [grid] also sets {', '.join(both)}", "Give it in one of the two places")


def full_name(key: str) -> str:
    """`options.fold` for an option given as `fold`; any other key unchanged."""
    return key if "." in key or key in Recipe.model_fields else f"options.{key}"


def expand(
    recipe: Recipe, *, seeds: int = 1, shares: Sequence[float] = (), origin: str, options: OptionNames | None = None
) -> list[Recipe]:
    """The recipes of every combination of the grid's values, each for `shares` of the training rows and for `seeds`
    seeds, starting at the recipe's seed.

    A grid's values are checked like any other setting. Raises UserError for an empty list, a wrong value, a setting
    that two of its keys set, and more than MOST_RUNS runs.
    """
    axes = dict(recipe.grid)
    variants = axes.get(VARIANT, [])
    if not all(isinstance(variant, dict) for variant in variants):
        raise UserError(
            f"{origin}: grid.{VARIANT} is not a list of tables", f'Write {VARIANT} = [{{ layers = "last" }}]'
        )
    names = set_by(axes)
    if twice := sorted(name for name, count in Counter(names).items() if count > 1):
        raise UserError(
            f"{origin}: [grid] sets {', '.join(twice[:SETTINGS_SHOWN])} in two places", "Remove one of them"
        )
    sizes = [*map(len, axes.values()), max(1, len(shares)), seeds]
    if max(itertools.accumulate(sizes, operator.mul)) > MOST_RUNS:  # before any recipe is built
        raise UserError(
            f"{origin}: [grid] and `seeds` ask for {'x'.join(map(str, sizes[:SETTINGS_SHOWN]))} runs or more, and "
            f"{MOST_RUNS:,} is the most",
            "Remove values or seeds",
        )
    if shares:
        if "train_share" in names or recipe.train_share != 1:
            raise UserError(f"{origin}: `data_sizes` and 'train_share' exclude each other", "Give one of the two")
        axes["train_share"] = list(shares)
    if seeds > 1:
        if "seed" in names:
            raise UserError(f"{origin}: `seeds` and a grid over 'seed' exclude each other", "Give one of the two")
        axes["seed"] = list(range(recipe.seed, recipe.seed + seeds))
    for key, values in axes.items():
        if not values:
            raise UserError(f"{origin}: grid.{key} is an empty list", "Give it values, or remove the key")
    single = recipe.model_copy(update={"grid": {}})
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    return [single.with_settings(_spread(point), origin=f"{origin} [grid]", options=options) for point in points]


def require_different(recipes: Sequence[Recipe]) -> None:
    """Raises UserError for runs that differ only in settings without effect on the result: they show no spread.

    The logistic solver is deterministic: seeds and most settings of `train` do not affect it.
    """
    unused = {"seed", "init_seed", "data_seed", *(f"train.{name}" for name in {*Train.model_fields} - SEEN_BY_LOGISTIC)}
    first: dict[str, dict[str, Any]] = {}
    for settings in (flat(recipe.model_dump()) for recipe in recipes if recipe.train.solver == "logistic"):
        key = repr({name: value for name, value in settings.items() if name not in unused})
        same = first.setdefault(key, settings)
        if names := " and ".join(name for name in settings if settings[name] != same[name]):
            raise UserError(
                f"train.solver = 'logistic' gives the same result for every {names}",
                f"Give one {names}, without `seeds` or a [grid] over it",
            )


def _spread(point: dict[str, Any]) -> dict[str, Any]:
    """The settings of a grid point, with those of its variant."""
    return {key: value for key, value in point.items() if key != VARIANT} | flat(point.get(VARIANT, {}))


def shares_of(sizes: str | Iterable[Any]) -> list[float]:
    """The shares, over 0 to 1, in increasing order, of numbers or of percentages with commas between them.

    Raises UserError for anything else, and for a single one.
    """
    remedy = PERCENTAGES if isinstance(sizes, str) else SHARES
    if not isinstance(sizes, Iterable):
        raise UserError(f"`data_sizes`: {shown_value(sizes)} is not a list", SHARES)
    shares = set()
    for size in sizes.split(",") if isinstance(sizes, str) else sizes:
        number, sign, after = size.strip().partition("%") if isinstance(size, str) else (size, "%", "")
        try:
            if after or not sign:
                raise ValueError
            share = float(number) / (100 if isinstance(size, str) else 1)
        except (TypeError, ValueError):
            raise UserError(f"`data_sizes`: {shown_value(size)} is not a percentage or share", remedy) from None
        if not 0 < share <= 1:
            raise UserError(f"`data_sizes`: {size} is not over 0% and at most 100%", remedy)
        shares.add(share)
    if not FEWEST_SIZES <= len(shares) <= MOST_SIZES:
        what = f"`data_sizes`: {shown_value(sizes)} has {len(shares)}, not {FEWEST_SIZES} to {MOST_SIZES}"
        raise UserError(what, remedy)
    return sorted(shares)

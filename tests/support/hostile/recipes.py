"""Recipe files and settings of any kind."""

import random
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomli_w

from finetune.runs.settings import override_value, recipe_files
from finetune.training.targets import expand_targets, split_arguments
from support.fuzzing import Fuzzed, damaged
from support.hostile.values import NUMBERS, TEXTS, value

LONGEST_ARGUMENT = 130_000  # characters, on Linux
MOST_MEMORY = 300_000_000  # bytes that all of them may add
KEYS = (
    *("task", "model", "max_length", "seed", "init_seed", "data_seed", "frozen", "layers", "bilstm", "freeze_layers"),
    *("lora", "lora_targets", "lora_alpha", "lora_dropout", "adapter"),
    *("reinit_layers", "limit", "options", "train", "grid", "fold", "threshold", "labels", "dev", "preset", "variant"),
    *("train.batch_size", "train.epochs", "train.solver", "train.learning_rate", "train.schedule", "train.warmup"),
    *("train.weight_decay", "train.adam_epsilon", "train.clip_norm", "train.accumulation", "train.layer_decay"),
    *("train.dropout", "train.precision", "train.select", "train.patience", "train.bias_correction", "grid.seed"),
    *("options.n_best", "options.stride", "grid.train.epochs", "grid.variant", "a.b.c", "", ".", "train.", "x" * 300),
)


def recipe_table(draw: random.Random) -> dict[str, Any]:
    """A table of settings, some of which are right."""
    base = draw.choice(list(recipe_files().values()))
    table = tomllib.loads(base.read_text(encoding="utf-8"))
    for _ in range(draw.randrange(1, 4)):
        *parents, last = draw.choice(KEYS).split(".")
        inner = table
        for parent in parents:
            inner = inner.setdefault(parent, {})
            if not isinstance(inner, dict):
                break
        else:
            inner[last] = value(draw)
    return table


def recipe_bytes(draw: random.Random, fuzzed: Fuzzed) -> bytes:
    """A recipe file: settings of any kind, or a text that is damaged, huge, deep or no TOML."""
    kind = draw.randrange(12)
    if kind == 0:
        depth = draw.choice((11, 300, 5_000, 100_000))
        return draw.choice((b"x = " + b"[" * depth + b"]" * depth, b"x = " + b"{a=" * depth, b"a." * depth + b"b = 1"))
    if kind == 1:
        return b"".join(b"k%d = 1\n" % number for number in range(draw.choice((20, 10_000))))
    if kind == 2:
        axes = b"\n".join(b"k%d = [%s]" % (n, b"1, " * draw.choice((1, 10, 1_000))) for n in range(draw.randrange(9)))
        return b'task = "mrpc"\n[grid]\n' + axes.replace(b"k0", b"seed").replace(b"k1", b"train.epochs")
    if kind == 3:
        return draw.randbytes(draw.choice((0, 1, 100, 3_000_000)))
    with suppress(TypeError, ValueError, AttributeError):  # what TOML cannot hold
        content = tomli_w.dumps(recipe_table(draw)).encode("utf-8")
        return damaged(content, draw, fuzzed) if kind < 6 else content
    return b""


def settings(draw: random.Random) -> list[str]:
    """Arguments of the command line, `key=value` and others."""
    return [
        draw.choice((f"{draw.choice(KEYS)}={draw.choice(written(draw))}", draw.choice(TEXTS)))[:LONGEST_ARGUMENT]
        for _ in range(draw.randrange(1, 3))
    ]


def written(draw: random.Random) -> tuple[str, ...]:
    given = value(draw)
    with suppress(TypeError, ValueError):
        return (tomli_w.dumps({"v": given}).removeprefix("v = ").strip(), str(draw.choice(NUMBERS[:16])))
    return (str(draw.choice(TEXTS)),)


def fuzz_recipes(count: int, seed: int, folder: Path) -> Fuzzed:
    """Tries so many recipe files and settings, as `finetune run` and `show` read them before any data is read."""
    draw, fuzzed = random.Random(seed), Fuzzed()
    file = folder / "hostile.toml"
    with fuzzed.within(MOST_MEMORY):
        for number in range(count):
            if number % 2:
                content = recipe_bytes(draw, fuzzed)
                file.write_bytes(content)
                targets, shown = [str(file)], repr(content[:500])
            else:
                given = settings(draw)
                targets, shown = [draw.choice(("glue-mrpc", "squad-v2", "codah")), *given], repr(given)
            seeds = draw.choice((1, 1, 1, 3, 10**9))
            fuzzed.add(f"{shown} with {seeds} seeds", lambda: read_recipe(targets, seeds))  # noqa: B023 - called at once
    return fuzzed


def read_recipe(targets: list[str], seeds: int) -> None:
    """Everything that is done with a recipe before data and model are read; what it gives can be written and read."""
    names, given = split_arguments(targets)
    for one in expand_targets(names, given, seeds=seeds)[:3]:
        assert tomllib.loads(one.recipe.to_toml())["task"] == one.recipe.task
        assert one.recipe.model_dump_json()
        assert override_value("seed", str(one.recipe.seed)) == one.recipe.seed

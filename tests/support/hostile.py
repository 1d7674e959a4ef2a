"""Hostile recipes and records, made at random from a seed, and what became of them: an answer or a UserError."""

import copy
import io
import json
import random
import resource
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from finetune.analysis.paper_table import lines_of, load_table
from finetune.analysis.paper_table_formats import as_csv, as_markdown, runs_form
from finetune.analysis.report.page import render
from finetune.analysis.report.run_files import find_folders, read_run_files
from finetune.api.comparison import compare
from finetune.cli.console import Terminal
from finetune.cli.run_tables import print_record, runs_table, summary_lines, summary_table
from finetune.cli.table import as_table
from finetune.cli.terminal import error_text, printable
from finetune.errors import UserError
from finetune.runs.lookup import find_run, runs_of
from finetune.runs.recipe import Recipe, Train
from finetune.runs.record import DamagedRecord, all_records, listed_runs, load_record
from finetune.runs.toml import override_value
from finetune.task_types import SentenceRow
from finetune.task_types.registry import find
from finetune.task_types.task import Answer
from finetune.training.targets import expand_targets, recipe_files, split_arguments
from support.records import BASE, save_run

LONGEST_ARGUMENT = 130_000  # characters, on Linux
SLOWEST = 10.0  # seconds of one try, on a busy machine
LARGEST = 300_000_000  # bytes that the process may grow by


@dataclass
class Outcome:
    """How many inputs were tried, how many of them were refused, and what went wrong with the others: nothing."""

    tried: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def survived(self) -> int:
        """Inputs with an answer or a UserError, in time."""
        return self.tried - len(self.faults)

    def add(self, what: str, action: Callable[[], object]) -> None:
        """Tries one input."""
        self.tried += 1
        started = time.monotonic()
        try:
            action()
        except UserError as error:
            self.refused += 1
            if "\n" in error_text(error).replace("\n  - ", ""):
                self.faults.append(f"{what[:2_000]}: several lines: {error}")
        except Exception as error:
            self.faults.append(f"{what[:2_000]}: {type(error).__name__}: {str(error)[:1500]}")
        if (seconds := time.monotonic() - started) > SLOWEST:
            self.faults.append(f"{what[:2_000]}: took {seconds:.0f} s")


def memory() -> int:
    """The most memory that this process had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# --- values ---


TEXTS = (
    *(
        "",
        " ",
        ".",
        "..",
        "/",
        "~nobody/x",
        "../../etc/passwd",
        "/dev/zero",
        "\0",
        "a\0b",
        "\x1b[31m",
        "[/x]",
        "[bold]",
    ),
    *("{0}", "%s", "\u202eabc", "\ufeff", "nan", "last", "auto", "mrpc", "squad-v2", "x.py:y", "NaN", "-1", "=", "a=b"),
    *(
        "é" * 300,
        "x" * 300,
        "x" * 5_000,
        "a/" * 3_000,
        "a." * 2_000,
        "[" * 3_000,
        "9" * 5_000,
        "'" * 3,
        "\\",
        "\n",
        "*",
    ),
)
NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 10**3, 10**6, 10**9, 2**31, 2**32, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 10**400),
    *(
        0.0,
        -0.0,
        0.1,
        0.5,
        1.0,
        -1.5,
        1e-5,
        1e-45,
        5e-324,
        1e38,
        1e39,
        1.7e308,
        float("inf"),
        -float("inf"),
        float("nan"),
    ),
)


def value(draw: random.Random, depth: int = 0) -> Any:
    """A value that a setting or a fact is seldom prepared for."""
    kind = draw.randrange(9 if depth < 3 else 6)
    if kind < 2:
        return draw.choice(TEXTS)
    if kind < 5:
        return draw.choice(NUMBERS)
    if kind == 5:
        return draw.random() < 0.5
    if kind == 6:
        return [value(draw, 3)] * draw.choice((1, 2, 100, 2_000))
    if kind == 7:
        return [value(draw, depth + 1) for _ in range(draw.randrange(4))]
    return {draw.choice(TEXTS) or "k": value(draw, depth + 1) for _ in range(draw.randrange(4))}


def nested(depth: int) -> list[Any]:
    """Lists in each other."""
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


# --- recipes ---

KEYS = (
    *("task", "model", "max_length", "seed", "init_seed", "data_seed", "frozen", "layers", "bilstm", "freeze_layers"),
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


def recipe_bytes(draw: random.Random) -> bytes:
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
        return damaged(draw, content) if kind < 6 else content
    return b""


def damaged(draw: random.Random, content: bytes) -> bytes:
    """The content cut off, or with some bytes changed."""
    if draw.random() < 0.3 or not content:
        return content[: draw.randrange(len(content) + 1)]
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 8))):
        changed[draw.randrange(len(changed))] = draw.choice(b'"[]{}=.,0129 \n\\x\x00\xff')
    return bytes(changed)


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


def fuzz_recipes(count: int, seed: int, folder: Path) -> Outcome:
    """Tries so many recipe files and settings, as `finetune run` and `show` read them before any data is read."""
    draw, outcome, before = random.Random(seed), Outcome(), memory()
    file = folder / "hostile.toml"
    for number in range(count):
        if number % 2:
            content = recipe_bytes(draw)
            file.write_bytes(content)
            targets, shown = [str(file)], repr(content[:500])
        else:
            given = settings(draw)
            targets, shown = [draw.choice(("glue-mrpc", "squad-v2", "codah")), *given], repr(given)
        seeds = draw.choice((1, 1, 1, 3, 10**9))
        outcome.add(f"{shown} with {seeds} seeds", lambda: plan(targets, seeds))  # noqa: B023 - called at once
    if memory() - before > LARGEST:
        outcome.faults.append(f"memory grew by {(memory() - before) / 1e6:.0f} MB")
    return outcome


def plan(targets: list[str], seeds: int) -> None:
    """Everything that is done with a recipe before data and model are read; what it gives can be written and read."""
    names, given = split_arguments(targets)
    for one in expand_targets(names, given, seeds=seeds)[:3]:
        assert tomllib.loads(one.recipe.to_toml())["task"] == one.recipe.task
        assert one.recipe.model_dump_json()
        assert override_value(str(one.recipe.seed)) == one.recipe.seed


# --- records ---


def paths(found: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every value of a JSON document."""
    pairs = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for key, inner in pairs:
        yield (*before, key)
        yield from paths(inner, (*before, key))


def mutated(draw: random.Random, record: dict[str, Any]) -> bytes:
    """A record with wrong values, missing or renamed keys, damaged bytes or deep nesting."""
    kind = draw.randrange(10)
    whole = json.dumps(record).encode()
    if kind == 0:
        return damaged(draw, whole)
    if kind == 1:
        deep = draw.choice((b"[", b'{"a":'))
        return whole.replace(b'"recipe":', b'"recipe":' + deep * draw.choice((100, 190, 300, 100_000)), 1)
    changed = copy.deepcopy(record)
    for _ in range(draw.choice((1, 1, 2, 3))):
        *parents, last = draw.choice(list(paths(changed)))
        inner = changed
        for parent in parents:
            inner = inner[parent]
        if kind < 4:
            del inner[last]
        elif kind == 4 and isinstance(inner, dict):
            inner[draw.choice(TEXTS)] = inner.pop(last)
        else:
            inner[last] = value(draw)
        if not changed:
            break
    return json.dumps(changed).encode("utf-8", "surrogatepass")


def write_runs(out: Path) -> None:
    """Four finished runs of MRPC that were never made, three of which differ in their seeds only."""
    rows = [SentenceRow(id=str(i), text=f"the cat {i}", pair=f"a dog {i}", gold=str(i % 2)) for i in range(12)]
    for seed in range(4):
        answers = [Answer(value=str((i + (i == seed)) % 2), probabilities=[0.5, 0.5]) for i in range(12)]
        recipe = Recipe(task="mrpc", seed=seed, train=Train(epochs=2 if seed else 1)).model_dump(exclude={"grid"})
        epochs = [{"epoch": 1, "loss": 0.5, "headline": 0.5, "scores": {"dev": {"accuracy": 0.5, "f1": 0.5}}}]
        run = save_run(
            out, find("mrpc"), rows, answers, baselines={"majority": answers}, recipe=recipe, epochs=epochs, model=BASE
        )
        log = [{"event": "training", "done": 0}, {"event": "updates", "update": 2, "losses": [0.7, 0.6]}]
        (run / "events.jsonl").write_text("\n".join(map(json.dumps, log)))


def fuzz_records(count: int, seed: int, out: Path, *, reports: int = 20) -> Outcome:
    """Changes the record of the first of the runs in a results folder so many times, and reads it in every way.

    The other runs must be found, listed and summarised each time; every `reports`-th is written as a report too.
    """
    draw, outcome, before = random.Random(seed), Outcome(), memory()
    file, *others = sorted(out.glob("*/*/record.json"))
    whole = file.read_bytes()
    facts = json.loads(whole)
    for number in range(count):
        file.write_bytes(mutated(draw, facts))
        draws_report = number % reports == 0
        outcome.add(
            repr(file.read_bytes()[:3_000]),
            lambda: use_all(out, file, others, draws_report),  # noqa: B023
        )
    file.write_bytes(whole)
    if memory() - before > LARGEST:
        outcome.faults.append(f"memory grew by {(memory() - before) / 1e6:.0f} MB")
    return outcome


def use_all(out: Path, file: Path, others: list[Path], draws_report: bool) -> None:
    """What `ls`, `show`, `table`, `compare`, `report` and `predict` do with the records of a folder."""
    task = file.parent.parent.name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedRecord)
        console = Terminal()
        console.file = io.StringIO()
        console.print(runs_table(listed_runs(out)))
        records = all_records(out)
        assert len(records) >= len(others)
        console.print(summary_table(records))
        for line in summary_lines(records):
            console.print(line)
        for name in ("glue", "stability"):
            table = load_table(name)
            lines = lines_of(table, records)
            if draws_report:
                console.print(as_table(runs_form(table, lines)))
            assert as_markdown(name, runs_form(table, lines))
            assert as_csv(lines)
        found = runs_of(task, out)
        assert len(found) >= len([other for other in others if other.parent.parent.name == task])
        assert printable(console.file.getvalue()) == console.file.getvalue()
        folder = find_run(str(file.parent), out)
        assert folder is not None
        record = load_record(file)  # a command that names this very run: UserError, or all of what follows
        print_record(console, record)
        if draws_report:
            assert render([read_run_files(one) for one in find_folders([str(folder.path), task], out)])
            with suppress(UserError):
                compare(str(folder.path), str(others[0].parent), out=out, seeds=True)

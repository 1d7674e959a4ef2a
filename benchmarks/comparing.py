"""The command line of a benchmark: contestants in alternation, each in a fresh process; a table and a JSON file."""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import machine
from dated import out_parser, write_json
from measuring import MAX_LENGTH, MODEL, TRAIN, WARM_UP, Job, Measurement, fresh, limits, sample
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Column, Table

from finetune.errors import UserError

Contestants = Mapping[str, Callable[[Job], Measurement]]
Ratios = Mapping[str, Mapping[str, tuple[str, str]]]  # column -> contestant -> (numerator, denominator)
Results = dict[str, list[Measurement]]  # contestant -> one measurement a round
console = Console(highlight=False, width=120)


def compare(contestants: Contestants, ratios: Ratios, *, about: str) -> None:
    """Reads the options, measures, prints and writes."""
    parser = out_parser(about, required=False)
    parser.add_argument("--data", type=Path, help="folder with MRPC's files; default: $FINETUNE_DATA, then the Hub")
    parser.add_argument("--updates", type=int, default=40, help="updates timed in each process")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each contestant")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="of ours where its name has none")
    parser.add_argument("--only", nargs="+", choices=list(contestants), help="leave out the others")
    options = parser.parse_args()
    if options.updates < 1 or options.rounds < 1:
        parser.error("--updates and --rounds must be at least 1")
    contestants = {name: contestants[name] for name in options.only or contestants}
    ratios = {
        column: {name: pair for name, pair in pairs.items() if set(pair) <= set(contestants)}
        for column, pairs in ratios.items()
    }
    train = TRAIN.model_copy(update={"precision": options.precision})
    job = Job(data=options.data, updates=options.updates, seed=0, train=train)
    try:
        sample(job)
    except UserError as error:
        parser.error(str(error))
    facts = _facts(job, options.rounds)
    results = _measure(contestants, job, rounds=options.rounds)
    console.print(_table(results, ratios))
    write_json(options.out, {"about": about, **facts, **_numbers(results, ratios)})


def _measure(contestants: Contestants, job: Job, *, rounds: int) -> Results:
    """Every second round is in reverse order, so that drift in machine speed favours nobody."""
    results: Results = {name: [] for name in contestants}
    for number in range(rounds):
        for name in list(contestants)[:: -1 if number % 2 else 1]:
            found = fresh(contestants[name], replace(job, seed=number))
            results[name].append(found)
            console.print(f"round {number + 1}  {name}: {found.examples_per_second:.1f} examples/s")
    return results


def _facts(job: Job, rounds: int) -> dict[str, Any]:
    """Machine, versions and settings of the measurement."""
    return {
        **machine.facts(),
        "gflops": fresh(limits),
        "settings": {
            "model": MODEL,
            "max_length": MAX_LENGTH,
            "train": job.train.model_dump(),
            "updates_timed": job.updates,
            "updates_before": WARM_UP,
            "rounds": rounds,
        },
    }


def _numbers(results: Results, ratios: Ratios) -> dict[str, Any]:
    """All measurements, medians over rounds, and ratios of medians in examples/s and in tokens/s without padding."""
    measures = {"examples": "examples_per_second", "tokens": "tokens_per_second"}
    return {
        "median_examples_per_second": {name: _median(results[name], "examples_per_second") for name in results},
        "ratios": {
            column: {
                name: {unit: _ratio(results, *pair, field) for unit, field in measures.items()}
                for name, pair in pairs.items()
            }
            for column, pairs in ratios.items()
        },
        "measurements": {name: [asdict(found) for found in results[name]] for name in results},
    }


def _table(results: Results, ratios: Ratios) -> Table:
    """Medians over rounds; tokens are means per example, without and with padding."""
    columns = ("examples/s", "min-max", *ratios, "tokens", "padded", "loss")
    table = Table("", *(Column(name, justify="right", no_wrap=True) for name in columns), box=SIMPLE)
    for name, found in results.items():
        rates = [each.examples_per_second for each in found]
        table.add_row(
            name,
            f"{statistics.median(rates):.1f}",
            f"{min(rates):.1f}-{max(rates):.1f}",
            *(
                f"{_ratio(results, *pairs[name], 'examples_per_second'):.2f}" if name in pairs else ""
                for pairs in ratios.values()
            ),
            *(f"{_median(found, field):.1f}" for field in ("tokens", "padded_tokens")),
            f"{_median(found, 'loss'):.3f}",
        )
    return table


def _ratio(results: Results, numerator: str, denominator: str, field: str) -> float:
    return _median(results[numerator], field) / _median(results[denominator], field)


def _median(found: list[Measurement], field: str) -> float:
    return float(statistics.median(getattr(each, field) for each in found))

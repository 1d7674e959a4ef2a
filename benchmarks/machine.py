"""The command line of a benchmark, the facts of its machine, and the JSON file that it writes."""

import json
import os
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from finetune.runs.process import cpu_name, git_commit, versions

ROOT = Path(__file__).resolve().parents[1]


def facts() -> dict[str, Any]:
    """Time, commit, versions and CPU; `load_before`, if above 0, is from other processes."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "git_commit": git_commit(),
        "versions": versions(),
        "cpu": {
            "name": cpu_name(),
            "capability": torch.backends.cpu.get_cpu_capability(),
            "threads": torch.get_num_threads(),
            "load_before": os.getloadavg()[0],
        },
    }


def memory(process: int | str = "self") -> dict[str, int]:
    """Bytes of memory of a process on Linux, as its status has them: `VmHWM` is the most that was resident, `RssAnon`
    what is now without mapped files. Empty once it has ended.
    """
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    fields = (line.split() for line in lines if line.endswith(" kB"))
    return {name.rstrip(":"): 1024 * int(value) for name, value, _ in fields}


def reset_peak() -> None:
    """Makes `VmHWM` count from here."""
    Path("/proc/self/clear_refs").write_text("5")


def in_a_process(arguments: Sequence[str | Path], folder: Path) -> dict[str, float]:
    """Seconds by the clock and of the CPU, and the peak of memory, of Python with these arguments, from start to exit.

    Its cache is in the folder, which also gets what it prints, as log.txt.
    """
    environs = {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "FINETUNE_CACHE": str(folder / "cache")}
    began, log = time.perf_counter(), folder / "log.txt"
    with log.open("w") as opened:
        process = subprocess.Popen(
            [sys.executable, *arguments], env=os.environ | environs, stdout=opened, stderr=opened
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{arguments} ended with {process.returncode}: {log.read_text()[-2000:]}")
    return {
        "seconds": time.perf_counter() - began,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_megabytes": usage.ru_maxrss / 1e3,
    }


def options(about: str | None, *places: str, **defaults: Any) -> Namespace:
    """The command line: `--out`, words in these places, and an option for each default.

    A tuple takes several values, of strings some of its own; False is a switch, and a type has no default.
    """
    parser = ArgumentParser(description=about, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    for place in places:
        parser.add_argument(place)
    for name, default in defaults.items():
        flag = f"--{name.replace('_', '-')}"
        if default is False:
            parser.add_argument(flag, action="store_true")
        elif isinstance(default, type):
            parser.add_argument(flag, type=default)
        elif isinstance(default, tuple):
            kind = type(default[0])
            parser.add_argument(flag, type=kind, nargs="+", default=default, choices=default if kind is str else None)
        else:
            parser.add_argument(flag, type=type(default), default=default)
    return parser.parse_args()


def write(out: Path | None, about: str, found: dict[str, Any]) -> None:
    """Prints what was measured, and writes it with the facts of the machine if there is a file."""
    print(json.dumps(found, indent=1))
    _save(out, {"about": about, **facts(), **found})


class Parts:
    """What is measured part by part, in the file's `key`: the same command goes on where an earlier one stopped.

    Parts have names, or are lines of a list, found by some of their cells. Several commands with other parts may write
    the file at a time. Raises SystemExit for a file that was measured with other `settings`.
    """

    def __init__(self, out: Path | None, about: str, *, key: str, **facts: Any) -> None:
        self.out, self.key, self.facts = out, key, json.loads(json.dumps({"about": about, **facts}))
        self.file: dict[str, Any] = {}
        before = self.read().get("settings")
        if before is not None and before != self.facts.get("settings", before):
            raise SystemExit(f"{out} was measured with {before}: give another --out, or remove it")

    def read(self) -> dict[str, Any]:
        """The file as it is now."""
        if self.out is not None and self.out.is_file():
            self.file = json.loads(self.out.read_text(encoding="utf-8"))
        return self.file

    def has(self, name: str | dict[str, Any]) -> bool:
        """Whether a part is measured."""
        parts = self.read().get(self.key, {})
        return any(name.items() <= line.items() for line in parts) if isinstance(name, dict) else name in parts

    def measure(self, name: str | dict[str, Any], function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        """Measures a part that is missing, prints and writes it; a function that returns None has nothing to tell."""
        if self.has(name):
            return
        result = function(*arguments, **named)
        if result is None:
            return
        print(name, json.dumps(result)[:500], flush=True)
        parts = self.read().get(self.key)
        added = [*(parts or []), name | result] if isinstance(name, dict) else {**(parts or {}), name: result}
        self.write(**{self.key: added})

    def write(self, **changes: Any) -> None:
        """Writes the file with these changes."""
        self.file = {**self.read(), **facts(), **self.facts, **changes}
        _save(self.out, self.file)


def _save(out: Path | None, found: dict[str, Any]) -> None:
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

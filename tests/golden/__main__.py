"""Renews what is kept: `PYTHONPATH=.:tests .venv/bin/python -m golden --write [NAME...]`; all, or cases by name.

Renew it where a result was meant to change, and look at what git says is different: each number is one that users see.
"""

import argparse
import os
import tempfile
from dataclasses import replace
from pathlib import Path

# As in tests/conftest.py, before the libraries that read these are imported:
os.environ |= {
    "OMP_NUM_THREADS": "1",
    "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
    "HF_HUB_OFFLINE": "1",
}

from golden import recorded, test_ids, test_layouts, test_tables
from golden.runs import CASES, KEPT, made


def write_run(name: str) -> None:
    """Renews a case of golden runs; one that the test interrupts is kept as it is without that."""
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        os.environ["FINETUNE_CACHE"] = f"{folder}/cache"
        (Path(folder) / "here").mkdir()
        found = [recorded.plain(run) for run in made(replace(CASES[name], interrupted=False), Path(folder) / "here")]
    (KEPT / "runs" / f"{name}.json").write_text(recorded.as_text(found) + "\n", encoding="utf-8")


def write_machine() -> None:
    (KEPT / "machine.json").write_text(recorded.as_text(recorded.machine()) + "\n", encoding="utf-8")


OTHERS = {"ids": test_ids.write, "tables": test_tables.write, "layouts": test_layouts.write}
WRITERS = {name: lambda name=name: write_run(name) for name in CASES} | OTHERS  # what renews the part of each name


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m golden", description=__doc__.splitlines()[0])
    parser.add_argument("--write", nargs="*", metavar="NAME", choices=[*WRITERS, []], required=True)
    names = parser.parse_args().write or list(WRITERS)
    for name in names:
        WRITERS[name]()
        print(name, flush=True)
    if set(CASES) <= set(names):
        write_machine()


if __name__ == "__main__":
    main()

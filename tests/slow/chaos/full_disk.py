"""A disk that is full: a command on a small tmpfs of many sizes, which later grows."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slow.chaos.commands import finetune
from slow.chaos.kills import finish
from slow.chaos.outcome import Failed
from slow.chaos.places import Lab, Skipped, require_ended, require_one_error
from slow.chaos.scenarios import SCENARIOS
from slow.chaos.trial import Tally

LARGE = 256 * 1024  # kB
SIZES = 14  # of a scenario
PAGE = 4096
MOST = {True: 4_000, False: 300}  # kB that a command of training, or another, may have at first


def sizes(lab: Lab, name: str) -> Tally:
    """One line where the disk is full, no scratch file left on it; with space the command finishes."""
    scenario, usual, tally = SCENARIOS[name], lab.undisturbed(name), Tally(kind="full disk")
    for _ in range(lab.count(SIZES)):
        spare = round(lab.random.uniform(8, MOST[scenario.command[0] == "run"]))

        def body(place: Path, spare: int = spare) -> None:
            with tmpfs(place / "disk", kilobytes=_used(usual.template) + spare) as disk:
                shutil.copytree(usual.template, disk, dirs_exist_ok=True)
                stopped = finetune(disk, *scenario.command)
                if stopped.code == 0:
                    require_ended(stopped, 0)
                else:
                    require_one_error(stopped, runs=scenario.runs)
                    if left := list(disk.rglob("*.tmp")):
                        raise Failed("litter on a full disk", str(left[:3]))
                remount(disk, f"size={LARGE}k")
                finish(scenario, disk, usual)

        tally.trial(lab, usual.template, f"{name}, {spare} kB", body)
    return tally


@contextmanager
def tmpfs(folder: Path, *, kilobytes: int = LARGE) -> Iterator[Path]:
    """A small file system in memory. Raises Skipped where mounting is not allowed."""
    folder.mkdir()
    _mount(folder, "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def remount(folder: Path, option: str) -> None:
    """Changes a mounted file system: `size=...`, `ro` or `rw`."""
    _mount(folder, "-o", f"remount,{option}", str(folder))


def _mount(folder: Path, *arguments: str) -> None:
    try:
        subprocess.run(["mount", *arguments], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Skipped(f"mounting a tmpfs is not allowed here ({error})") from error


def _used(folder: Path) -> int:
    """Kilobytes of a folder on a tmpfs, in whole pages; folders take none."""
    return sum(-(-file.stat().st_size // PAGE) for file in folder.rglob("*") if file.is_file()) * PAGE // 1024

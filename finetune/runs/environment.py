"""The environment of a run: versions of the libraries that affect results, and the commit of the code."""

import os
import platform
import subprocess
from pathlib import Path

LIBRARIES = ("bert-finetune", "torch", "transformers", "tokenizers", "accelerate", "datasets", "scikit-learn", "numpy")


def versions() -> dict[str, str]:
    """The versions of Python and of the libraries; one that is not installed as a distribution is left out."""
    from importlib.metadata import PackageNotFoundError, version  # with email, for a command that needs neither

    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def git_commit() -> str | None:
    """The commit of a checkout of this package, with `+` when files differ from it; None for an installed one."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    commit = _git(root, "rev-parse", "--short=12", "HEAD")
    return commit and commit + ("+" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")


def cpu_name() -> str:
    """The name of the processor, as Linux or Python knows it."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.is_file() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def first_process() -> bool:
    """Whether this process is the one that prints and writes (rank 0 of a launcher)."""
    return os.environ.get("RANK", "0") == "0"

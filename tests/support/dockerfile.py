"""The instructions of a Dockerfile, for tests that run its commands without a daemon."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def instructions(file: Path = ROOT / "Dockerfile") -> list[tuple[str, str]]:
    """(instruction, arguments) of each, with continued lines joined and comments left out."""
    text = re.sub(r"(?m)^#.*\n", "", file.read_text(encoding="utf-8")).replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


def of_kind(kind: str) -> list[str]:
    """The arguments of each instruction of a kind, in order."""
    return [rest for name, rest in instructions() if name == kind]


def words_of(kind: str) -> Sequence[str]:
    """The words of the one instruction of a kind in its JSON form: those of a health check after CMD."""
    (text,) = of_kind(kind)
    found: Sequence[str] = json.loads(text[text.index("[") :])
    return found

"""The commands printed as next steps, ready to paste, with the options of the current one."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from finetune.runs.folder import RESULTS

WITH_DEVICE = ("run", "predict", "evaluate", "search")
WITH_DATA = ("run", "evaluate", "search")


@dataclass(frozen=True, kw_only=True)
class GivenOptions:
    """Options of a command that hold for the next one too."""

    out: Path = RESULTS
    data: Path | None = None
    device: str | None = None

    def options(self, name: str) -> list[str]:
        """Those of a command: `--out runs`."""
        options = ["--out", str(self.out)] if self.out != RESULTS else []
        options += ["--data", str(self.data)] if self.data and name in WITH_DATA else []
        return options + (["--device", self.device] if self.device and name in WITH_DEVICE else [])

    def command(self, name: str, *arguments: str) -> str:
        """`finetune report 1a2b --out runs`, quoted for a shell."""
        options = self.options(name)
        pairs = zip(options[::2], options[1::2], strict=True)
        added = [word for pair in pairs if pair[0] not in arguments for word in pair]
        return shlex.join(["finetune", name, *arguments, *added])

"""The pages of the documents, their code blocks and commands."""

import re
from pathlib import Path

from support.paths import ROOT

README, CONTRIBUTING = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
OWN_DATA, COMMANDS, COMPARING, RESULTS, RELIABILITY = (
    ROOT / "docs" / f"{name}.md" for name in ("your-data", "commands", "comparing", "results", "reliability")
)
OWN_TASK = ROOT / "docs" / "your-own-task.md"  # docs/test_your_own_task.py runs all of it
README_KO, OWN_DATA_KO = README.with_suffix(".ko.md"), OWN_DATA.with_suffix(".ko.md")
DOCUMENTS = [README, CONTRIBUTING, README_KO, *sorted({*(ROOT / "docs").glob("*.md")} - {OWN_TASK})]


def blocks(language: str, *documents: Path) -> list[str]:
    """All code blocks of a language."""
    texts = [document.read_text(encoding="utf-8") for document in documents]
    return [block for text in texts for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


def commands(*documents: Path) -> list[str]:
    """Every shell command once, without its comment."""
    lines = [line.split("  #")[0].strip() for block in blocks("bash", *documents) for line in block.splitlines()]
    return list(dict.fromkeys(line for line in lines if line))

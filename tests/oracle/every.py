"""The layouts of real files, and the table of how the tool did."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from finetune.analysis.table import markdown_table

from . import real
from .layout import CLASSES, Layout, Outcome


def of_real_files() -> list[Layout]:
    """The layouts of real files; none where they are not at hand."""
    named = os.environ.get("FINETUNE_DATA")
    data = Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "data"
    return list(real.layouts(data)) if (data / "glue" / "MRPC" / "dev.tsv").is_file() else []


def markdown(outcomes: Sequence[tuple[Layout, Outcome]]) -> str:
    """A row a class: how many layouts, and how many of each verdict."""
    kinds = {**{title: {kind} for kind, title in CLASSES.items()}, "all": {*CLASSES}}
    rows = [_row(name, _counts(outcomes, some)) for name, some in kinds.items()]
    return markdown_table(["layouts of files", "number", "right", "asks", "wrong"], rows)


def _counts(outcomes: Sequence[tuple[Layout, Outcome]], kinds: set[str]) -> Mapping[str, int]:
    return Counter(result.verdict for layout, result in outcomes if layout.kind in kinds)


def _row(name: str, counts: Mapping[str, int]) -> list[object]:
    return [name, sum(counts.values()), counts["right"], counts["asks"], counts["wrong"]]

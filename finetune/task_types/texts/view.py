"""The texts of a row in a report."""

import numpy as np

from finetune.task_types.marked_text import Part, plain
from finetune.task_types.view import Line


def text_parts(line: Line) -> list[Part]:
    """One text or two."""
    return [plain(name, line[name]) for name in ("text", "pair") if line.get(name) is not None]


def text_lengths(lines: list[Line]) -> np.ndarray:
    """Characters of the text, or of both together."""
    return np.array([len(line["text"]) + len(line.get("pair") or "") for line in lines])

"""One word means one thing: a public class or function is defined in one module, and a constant says what it counts."""

import ast
import re
from pathlib import Path

from structure import defined_twice, modules

ROOT = Path(__file__).resolve().parents[2]


def test_no_public_name_is_defined_twice() -> None:
    trees = {module: ast.parse(file.read_text(encoding="utf-8")) for module, file in modules(ROOT).items()}
    assert defined_twice(trees) == []


def test_constants_say_what_they_count() -> None:
    """ROWS_SHOWN, not SHOWN: the same word alone was 24 different numbers."""
    bare = re.compile(
        r"^(AT_ONCE|CHUNK|FEWEST|LEAST|LONGEST|LOOKED_AT|MOST|MOST_SHOWN|SAMPLE|SEEN|SHOWN)\b.*=", re.MULTILINE
    )
    assert [file for file in (ROOT / "finetune").rglob("*.py") if bare.search(file.read_text(encoding="utf-8"))] == []

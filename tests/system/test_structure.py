"""One word means one thing: a public class or function is defined in one module, and a constant says what it counts."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
INTERFACES = {"read", "sniff", "shown", "as_json", "exit_code"}  # what each file format, and each command, has


def test_no_public_name_is_defined_twice() -> None:
    """A command has the name of its file."""
    counts = Counter(
        name
        for folder in (ROOT / "finetune", (ROOT / "finetune" / "tasks").resolve())
        for file in folder.rglob("*.py")
        for name in {node.name for node in ast.parse(file.read_text()).body if isinstance(node, DEFINITIONS)}
        if not name.startswith("_") and file.parts[-2:] != ("commands", f"{name}.py")
    )
    assert {name for name, count in counts.items() if count > 1} <= INTERFACES

"""Figures of the source tree: modules, imports between packages, import cycles, lengths of files and functions.

python benchmarks/structure.py --out results/benchmarks/structure.json

A room is a package or module directly in finetune/, including the link to tasks/. An import counts once per pair of
modules, wherever it is: in a function and under TYPE_CHECKING too.
"""

import argparse
import ast
import json
import statistics
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dated import add_to
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

PACKAGE = "finetune"
CONTRACT = ("Task", "Codec", "Scoring", "Baselines", "Explainer", "Stream", "OwnType", "Predictions")  # of a task type
# what each module of its kind has: file formats, parts of a report, commands
INTERFACES = {"read", "sniff", "blocks", "shown", "as_json", "exit_code"}
Imports = Mapping[str, set[str]]  # of each module, the modules of the package that it imports


def modules(root: Path) -> dict[str, Path]:
    """Every module by its dotted name, following the package's symbolic links."""
    package = root / PACKAGE
    linked = [folder for folder in package.iterdir() if folder.is_symlink()]
    inside = [file for file in package.rglob("*.py") if not any(folder in file.parents for folder in linked)]
    behind = [
        folder / file.relative_to(folder.resolve()) for folder in linked for file in folder.resolve().rglob("*.py")
    ]
    return {name_of(file.relative_to(root)): file for file in sorted([*inside, *behind])}


def name_of(file: Path) -> str:
    """`finetune/data/cells.py` is `finetune.data.cells`, a package's `__init__.py` the package."""
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module: str) -> str:
    """The part of the name after `finetune.`; empty for `finetune` itself."""
    return module.partition(".")[2].partition(".")[0]


def imported(tree: ast.AST, module: str, *, is_package: bool) -> Iterator[str]:
    """Dotted names that are imported; `a.b` for `from a import b`."""
    here = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) + 1 - node.level] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{start}.{alias.name}" for alias in node.names)


def imports(files: Mapping[str, Path], trees: Mapping[str, ast.AST]) -> dict[str, set[str]]:
    """The modules that each module imports. A name that is not a module belongs to the module before the dot."""
    found = {}
    for module, tree in trees.items():
        names = imported(tree, module, is_package=files[module].name == "__init__.py")
        owners = {name if name in files else name.rpartition(".")[0] for name in names}
        found[module] = {owner for owner in owners if owner in files} - {module}
    return found


def circles(graph: Imports) -> list[list[str]]:
    """Import cycles: strongly connected components of the import graph, largest first."""
    names = sorted(graph)
    matrix = csr_array([[int(other in graph[name]) for other in names] for name in names])
    _, component = connected_components(matrix, directed=True, connection="strong")
    groups = [[name for name, own in zip(names, component, strict=True) if own == one] for one in set(component)]
    return sorted((group for group in groups if len(group) > 1), key=len, reverse=True)


def spread(lengths: Sequence[int]) -> dict[str, float]:
    """Median, 90th percentile and maximum."""
    ninth = statistics.quantiles(lengths, n=10, method="inclusive")[-1]
    return {"median": statistics.median(lengths), "90th percentile": ninth, "maximum": max(lengths)}


def defined_twice(trees: Mapping[str, ast.Module]) -> list[str]:
    """Public classes and functions whose name is defined in more than one module."""
    found = Counter(
        name
        for module, tree in trees.items()
        for name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        if not name.startswith("_") and module != f"finetune.commands.{name}"  # a command has the name of its file
    )
    return sorted(name for name, count in found.items() if count > 1 and name not in INTERFACES)


def contract(trees: Mapping[str, ast.Module]) -> dict[str, int]:
    """The number of public methods of each class that a task type is made of."""
    return {
        node.name: sum(isinstance(each, ast.FunctionDef) and not each.name.startswith("_") for each in node.body)
        for module, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name in CONTRACT and module.startswith(f"{PACKAGE}.task_types.")
    }


def committed(root: Path) -> str:
    """The date of the checkout's commit."""
    asked = ["git", "-C", str(root), "log", "-1", "--format=%cs"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def structure(root: Path) -> dict[str, Any]:
    """All figures of a checkout."""
    files = modules(root)
    texts = {module: file.read_text(encoding="utf-8") for module, file in files.items()}
    trees = {module: ast.parse(text) for module, text in texts.items()}
    graph = imports(files, trees)
    functions = [
        ((node.end_lineno or node.lineno) - node.lineno + 1, module, node.name)
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    _, module, name = max(functions)
    return {
        "date": committed(root),
        "modules": len(files),
        "lines": sum(len(text.splitlines()) for text in texts.values()),
        "rooms": len({room(module) for module in files} - {""}),
        "imports": sum(map(len, graph.values())),
        "imports between rooms": sum(room(a) != room(b) for a, others in graph.items() for b in others),
        "circles": circles(graph),
        "lines of a file": spread([len(text.splitlines()) for text in texts.values()]),
        "lines of a function": spread([length for length, *_ in functions]),
        "names defined twice": len(defined_twice(trees)),
        "methods of a task type": contract(trees),
        "longest function": {"name": name, "file": files[module].relative_to(root).as_posix()},
    }


def main() -> None:
    """Counts, prints and writes."""
    parser = argparse.ArgumentParser(description="Figures of the source tree")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1], help="another checkout")
    parser.add_argument("--out", type=Path, help="JSON file to add to")
    options = parser.parse_args()
    found = structure(options.root)
    print(json.dumps(found | {"circles": [len(circle) for circle in found["circles"]]}, indent=1))
    add_to(options.out, "structure of the source", found)


if __name__ == "__main__":
    main()

"""Puts faults into the package, one at a time, and writes which of them the tests catch.

python benchmarks/caught_faults.py --out results/benchmarks/caught_faults.json    # resumes; --revision R

Each fault is in another file, chosen at random: a changed operator, a changed constant, two arguments in the other
order, or a call that is missing. First the tests of the file's room run, then all of `make test`, then the slow ones of
CI, up to the first that fails. All happens in a clone, so the checkout stays as it is.
"""

import ast
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from machine import ROOT, Parts, options

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult},
}
SLOW, FAST = "slow and not nightly", "not slow and not nightly"


@dataclass(frozen=True)
class Fault:
    """A replacement of the source between two places of a file."""

    file: Path
    kind: str
    node: ast.expr | ast.stmt
    replacement: str

    def text(self, source: str) -> str:
        """The source with the fault; `ast` counts columns in bytes of UTF-8."""
        lines, node = source.encode().splitlines(keepends=True), self.node
        assert node.end_lineno is not None
        start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
        end = sum(map(len, lines[: node.end_lineno - 1])) + (node.end_col_offset or 0)
        whole = source.encode()
        return (whole[:start] + self.replacement.encode() + whole[end:]).decode()


def faults_of(file: Path) -> Iterator[Fault]:
    """Every fault that can be put into a file."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Compare(ops=[operator]) if type(operator) in OPERATORS:
                node.ops = [OPERATORS[type(operator)]()]  # type: ignore[list-item]
                yield Fault(file, "operator", node, f"({ast.unparse(node)})")
            case ast.BoolOp(op=operator) | ast.BinOp(op=operator) if type(operator) in OPERATORS:
                node.op = OPERATORS[type(operator)]()  # type: ignore[assignment]
                yield Fault(file, "operator", node, f"({ast.unparse(node)})")
            case ast.Constant(value=bool(value)):
                yield Fault(file, "constant", node, str(not value))
            case ast.Constant(value=int(value) | float(value)):
                yield Fault(file, "constant", node, str(value + 1))
            case ast.Call(args=[first, second, *_]) if ast.dump(first) != ast.dump(second):
                node.args[:2] = [second, first]
                yield Fault(file, "order", node, ast.unparse(node))
            case ast.Expr(value=ast.Call()):
                yield Fault(file, "missing call", node, "pass")


def drawn(package: Path, count: int, seed: int) -> list[Fault]:
    """Faults in so many files, one each; kinds take turns, where a file has them."""
    draw = random.Random(seed)
    files = sorted(file for file in package.rglob("*.py") if any(faults_of(file)))
    kinds = ("operator", "constant", "order", "missing call")
    chosen = list[Fault]()
    for number, file in enumerate(draw.sample(files, count)):
        faults = list(faults_of(file))
        chosen.append(draw.choice([fault for fault in faults if fault.kind == kinds[number % 4]] or faults))
    return chosen


def fails(clone: Path, marks: str, *tests: str) -> bool:
    """Whether one of these tests fails. Raises RuntimeError where pytest itself cannot run."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "2", "--dist", "worksteal", "-m", marks, *tests]
    ended = subprocess.run(
        command, cwd=clone, env=os.environ | {"PYTHONPATH": str(clone)}, capture_output=True, text=True
    )
    if ended.returncode not in (0, 1, 2, 5):  # 2: a module that cannot be imported, 5: no test of these marks
        raise RuntimeError(ended.stdout[-2_000:])
    return ended.returncode in (1, 2)


def caught_by(clone: Path, fault: Fault) -> dict[str, str]:
    """Puts a fault into the clone, and takes it out again: what it is, and caught by `make test`, `CI` or `neither`."""
    source, room = fault.file.read_text(encoding="utf-8"), Path("tests/unit", *fault.file.relative_to(clone).parts[1:2])
    fault.file.write_text(fault.text(source), encoding="utf-8")
    try:
        if ((clone / room).is_dir() and fails(clone, FAST, str(room))) or fails(clone, FAST):
            caught = "make test"
        else:
            caught = "CI" if fails(clone, SLOW) else "neither"
    finally:
        fault.file.write_text(source, encoding="utf-8")
    return {"kind": fault.kind, "fault": f"{fault.node.lineno}: {fault.replacement:.80}", "caught by": caught}


def main() -> None:
    """Measures, and writes after each fault."""
    given = options(__doc__, faults=60, seed=0, revision="HEAD")
    settings = {"faults": given.faults, "seed": given.seed, "revision": given.revision}
    parts = Parts(given.out, "faults that tests catch", key="caught", settings=settings)
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        subprocess.run(["git", "-C", str(clone), "checkout", "--quiet", given.revision], check=True)
        if fails(clone, FAST, "tests/unit/metrics"):
            raise SystemExit(f"tests of {given.revision} fail without a fault")
        for fault in drawn(clone / "finetune", given.faults, given.seed):
            parts.measure(str(fault.file.relative_to(clone)), caught_by, clone, fault)


if __name__ == "__main__":
    main()

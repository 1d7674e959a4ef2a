"""Puts faults into the package, one at a time, and writes which of them the tests catch.

python benchmarks/caught_faults.py --out results/benchmarks/caught_faults.json    # resumes; --revision R, --work FOLDER

Each fault is in another file, chosen at random: a changed operator, a changed constant, two arguments in the other
order, or a call that is missing. All tests run once without a fault, and note the lines that each reaches. A fault is
then tried with the tests that reach it, those first that reach most of its file: 100 cases of `make test`, then 30
of the slow ones of CI, until one fails. All happens in a clone, so the checkout stays as it is.
"""

import ast
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coverage import CoverageData
from machine import ROOT, Parts, options

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult},
}
CASES = {"make test": ("not slow and not nightly", 100), "CI": ("slow and not nightly", 30)}  # marks, most to try
SUBPROCESSES = """[run]
source_pkgs = finetune
parallel = true
sigterm = true
context = ${PYTEST_CURRENT_TEST-}
data_file = """


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


def pytest(clone: Path, *arguments: str, **environs: str) -> subprocess.CompletedProcess[str]:
    """Runs pytest in the clone. Raises RuntimeError where it cannot run."""
    command = [sys.executable, "-m", "pytest", "-q", "--timeout", "600", *arguments]
    paths = os.pathsep.join(map(str, (clone.parent, clone, clone / "tests")))  # a sitecustomize.py, the package
    environs = os.environ | {"PYTHONPATH": paths} | environs
    ended = subprocess.run(command, cwd=clone, env=environs, capture_output=True, text=True)
    unimported = ended.returncode == 4 and "ERROR collecting" in ended.stdout  # a module of the cases, not a case
    if ended.returncode not in (0, 1, 2, 5) and not unimported:  # 5: no test of these marks
        raise RuntimeError(ended.stdout[-2_000:])
    return ended


def cloned(work: Path, revision: str) -> tuple[Path, CoverageData, set[str]]:
    """A clone at a revision, the lines that each test reaches, measured once, in its processes too, and slow cases."""
    clone, reached = work / "clone", work / "reached"
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        subprocess.run(["git", "-C", str(clone), "checkout", "--quiet", revision], check=True)
    if not reached.exists():
        settings = work / "coveragerc"
        settings.write_text(f"{SUBPROCESSES}{reached}\n")
        (work / "sitecustomize.py").write_text("import coverage\n\ncoverage.process_startup()\n")
        coverage = ["--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report="]
        arguments = ["-n", "2", "--dist", "worksteal", "-m", "not nightly", *coverage]
        if pytest(clone, *arguments, COVERAGE_PROCESS_START=str(settings)).returncode:
            raise SystemExit(f"tests of {revision} fail without a fault")
    data = CoverageData(str(reached))
    data.read()
    slow = pytest(clone, "--collect-only", "-m", CASES["CI"][0]).stdout.splitlines()
    return clone, data, set(slow)


def reaching(data: CoverageData, fault: Fault) -> list[str]:
    """The cases that reach a fault, first those that reach most lines of its file. For what runs when the file is
    imported, such as a constant, all that reach the file.
    """
    within = fault.file.parts[-fault.file.parts[::-1].index("finetune") - 1 :]
    (measured,) = (file for file in data.measured_files() if Path(file).parts[-len(within) :] == within)
    cases = {
        line: {case for context in contexts if (case := re.sub(r"\|\w+$| \(\w+\)$", "", context))}
        for line, contexts in data.contexts_by_lineno(measured).items()
    }
    tree = ast.parse(fault.file.read_text(encoding="utf-8"))
    bodies = (n.body[0] for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and inside(fault.node, n))
    lines = Counter(case for reached in cases.values() for case in reached)
    if any(bodies):
        statements = (n for n in ast.walk(tree) if isinstance(n, ast.stmt) and inside(fault.node, n))
        innermost = max(statement.lineno for statement in statements)
        reached = set().union(*(cases.get(line, ()) for line in range(innermost, (fault.node.end_lineno or 0) + 1)))
        lines = Counter({case: lines[case] for case in reached})
    return [case for case, _ in lines.most_common()]


def inside(node: ast.expr | ast.stmt, other: ast.stmt) -> bool:
    """Whether a node is in the body of a function, or in another statement."""
    first = other.body[0].lineno if isinstance(other, ast.FunctionDef) else other.lineno
    return first <= node.lineno and (node.end_lineno or 0) <= (other.end_lineno or 0)


def caught_by(clone: Path, data: CoverageData, slow: set[str], fault: Fault) -> dict[str, str | int]:
    """Puts a fault into the clone, and takes it out again: what it is, and caught by `make test`, `CI` or `neither`."""
    source, cases, caught = fault.file.read_text(encoding="utf-8"), reaching(data, fault), "neither"
    fault.file.write_text(fault.text(source), encoding="utf-8")
    try:
        for name, (marks, most) in CASES.items():
            tried = [case for case in cases if (case in slow) == (name == "CI")][:most]
            if tried and pytest(clone, "-x", "-m", marks, *tried).returncode in (1, 2, 4):
                caught = name
                break
    finally:
        fault.file.write_text(source, encoding="utf-8")
    line = fault.node.lineno
    return {"kind": fault.kind, "fault": f"{line}: {fault.replacement:.80}", "cases": len(cases), "caught by": caught}


def main() -> None:
    """Measures, and writes after each fault."""
    given = options(__doc__, faults=60, seed=0, revision="HEAD", work="build/faults")
    settings = {"faults": given.faults, "seed": given.seed, "revision": given.revision}
    parts = Parts(given.out, "faults that tests catch", key="caught", settings=settings)
    work = Path(given.work).resolve() / given.revision
    work.mkdir(parents=True, exist_ok=True)
    clone, data, slow = cloned(work, given.revision)
    for fault in drawn(clone / "finetune", given.faults, given.seed):
        parts.measure(str(fault.file.relative_to(clone)), caught_by, clone, data, slow, fault)


if __name__ == "__main__":
    main()

"""The command line where only the package's own dependencies are installed."""

import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support.paths import ROOT

from finetune.commands import COMMANDS

# Modules of other distributions cannot be imported; then every command says how it is called.
CODE = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from finetune.cli.app import main
for command in COMMANDS:
    sys.argv = ["finetune", command, *WORDS]
    try:
        main()
    except SystemExit as end:
        print(command, end.code)
"""


@pytest.fixture(scope="module")
def absent() -> list[str]:
    """The modules that only extras bring."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        needed = [Requirement(line) for line in tomllib.load(file)["project"]["dependencies"]]
    own = {"bert-finetune"}
    while needed:
        one = needed.pop()
        if (name := canonicalize_name(one.name)) in own or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        own.add(name)
        try:
            needed += map(Requirement, requires(name) or [])
        except PackageNotFoundError:
            continue
    found = packages_distributions()
    return sorted(
        module
        for module, distributions in found.items()
        if not own & set(map(canonicalize_name, distributions)) and module not in sys.stdlib_module_names
    )


def lines_of(absent: list[str], *words: str) -> list[str]:
    code = f"ABSENT, COMMANDS, WORDS = {set(absent)!r}, {list(COMMANDS)!r}, {list(words)!r}\n{CODE}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert "Traceback" not in done.stderr
    return [line for line in done.stdout.splitlines() if line.partition(" ")[0] in COMMANDS]


def test_the_help_of_every_command_needs_no_extra(absent: list[str]) -> None:
    assert {"torch", "jinja2", "onnx", "optuna", "fastapi"} <= {*absent}
    assert lines_of(absent, "--help") == [f"{command} 0" for command in COMMANDS]

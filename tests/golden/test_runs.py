"""Golden runs: what each case's commands give is what they gave when it was kept."""

import json
import warnings
from pathlib import Path

import pytest

from golden import recorded
from golden.runs import CASES, KEPT, made

SHOWN = 12  # differences of a case
BITS, NEAR = "to the bit", "by the tolerances of another machine"


@pytest.fixture(scope="module")
def exact() -> bool:
    """Whether this machine computes the bits that are kept; a warning says so if it does not."""
    same = bool(recorded.machine() == json.loads((KEPT / "machine.json").read_text(encoding="utf-8")))
    if not same:
        warnings.warn(f"golden runs are compared {NEAR}", stacklevel=1)
    return same


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_case_gives_what_it_gave(name: str, exact: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    found = [recorded.plain(run) for run in made(CASES[name], tmp_path / "here")]
    kept = json.loads((KEPT / "runs" / f"{name}.json").read_text(encoding="utf-8"))
    how = BITS if exact else NEAR
    print(f"{name}: compared {how}")
    lines = recorded.differences(kept, found, exact=exact)
    more = [f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    if lines:  # pytest would show both values of an assertion in full
        pytest.fail("\n".join([f"{name}, compared {how}:", *lines[:SHOWN], *more]), pytrace=False)


def test_each_kept_file_has_its_case() -> None:
    assert {file.stem for file in (KEPT / "runs").iterdir()} == set(CASES)

"""Every table of recipes/tables is written from the committed records byte for byte as it is kept.

Those in results/tables are committed for readers; the others, and some in CSV and in another form, are in
kept/tables/. `write()` renews all of them.
"""

import sys
from pathlib import Path

import pytest
from support.cli import InProcess, exit_code
from support.paths import ROOT

RESULTS, TABLES = ROOT / "results", ROOT / "recipes" / "tables"
SHOWN, KEPT = RESULTS / "tables", Path(__file__).parent / "kept" / "tables"
PUBLISHED = {file.name: ["--form", "runs"] * (file.stem == "glue") for file in sorted(SHOWN.glob("*.md"))}
OTHERS = {
    f"{file.stem}.md": list[str]() for file in sorted(TABLES.glob("*.toml")) if f"{file.stem}.md" not in PUBLISHED
}
MORE = {  # tables in other forms: file, and what is typed behind the table's name
    "glue-paper.md": ["--form", "paper"],
    "glue.csv": [],
    "squad.csv": [],
    "stability.csv": [],
    "table-6.csv": ["--cost"],
    "table-7.csv": [],
}
CASES = {
    **{SHOWN / name: options for name, options in PUBLISHED.items()},
    **{KEPT / name: options for name, options in (OTHERS | MORE).items()},
}


def typed(kept: Path, output: str | Path) -> list[str]:
    """The arguments that write a kept table to a file."""
    name = kept.stem.removesuffix("-paper")
    return ["table", name, *CASES[kept], "-o", str(output), "--out", str(RESULTS)]


def write() -> None:
    """Writes every table where it is kept."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for kept in CASES:
        sys.argv = ["finetune", *typed(kept, kept), "--force"]
        assert exit_code() == 0, kept


@pytest.mark.parametrize("kept", CASES, ids=lambda kept: kept.relative_to(ROOT).as_posix())
def test_a_table_is_written_again_as_it_is_kept(kept: Path, in_process: InProcess, tmp_path: Path) -> None:
    code, _, said = in_process(*typed(kept, kept.name), data="")
    assert code == 0, said
    found, expected = (file.read_text(encoding="utf-8").splitlines() for file in (tmp_path / kept.name, kept))
    for line, (new, old) in enumerate(zip(found, expected, strict=False), start=1):
        assert new == old, f"{kept.name}, line {line}"
    assert (tmp_path / kept.name).read_bytes() == kept.read_bytes()


def test_every_table_is_kept_and_no_other() -> None:
    names = {file.stem for file in TABLES.glob("*.toml")}
    assert len(names) >= 18
    assert {file.stem for file in CASES if file.suffix == ".md"} - {"glue-paper"} == names
    assert {*CASES} == {*SHOWN.iterdir(), *KEPT.iterdir()}

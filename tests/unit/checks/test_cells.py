"""`finetune check`: every fault that was planted in a cell is found in its row."""

import unicodedata
from pathlib import Path

import pytest
from support.checked_files import Check, found, reviews, texts

LONG_WORDS = texts(8, seed=1)


BAD_CELLS: dict[str, tuple[str, dict[int, object]]] = {
    "missing-text": ("text", {5: "", 8: "   "}),
    "missing-label": ("label", {7: "", 9: " "}),
    "blank-word": ("text", {11: "nan", 12: "N/A"}),
    "html": ("text", {15: f"<br/>{LONG_WORDS[0]}", 16: f"{LONG_WORDS[1]} &amp; more"}),
    "mojibake": ("text", {17: f"cafÃ© {LONG_WORDS[2]}", 18: f"itâ€™s {LONG_WORDS[3]}", 4: "ì•ˆë…• ì¹œêµ¬"}),
    "control": ("text", {19: f"nul \0 {LONG_WORDS[4]}", 20: f"zero\u200bwidth {LONG_WORDS[5]}"}),
    "replacement": ("text", {21: f"caf\ufffd {LONG_WORDS[6]}"}),
    "not-nfc": ("text", {22: unicodedata.normalize("NFD", f"café {LONG_WORDS[7]}")}),
    "label-variant": ("label", {28: "Good", 29: "BAD"}),
    "label-typo": ("label", {31: "goood", 32: "goood"}),
    "label-mistake": ("label", {48: "label"}),
    "blank-label": ("label", {33: "None"}),
    "duplicate": ("text", {37: texts(60)[34], 39: f"  {texts(60)[34]}"}),
    "contradiction": ("text", {35: texts(60)[34], 38: texts(60)[34]}),
}


ROWS = {code: tuple(sorted(cells)) for code, (_, cells) in BAD_CELLS.items()}


@pytest.mark.parametrize("code", BAD_CELLS)
def test_a_fault_in_a_cell_is_found_in_its_rows(code: str, tmp_path: Path, check: Check) -> None:
    column, cells = BAD_CELLS[code]
    assert code not in found(check(reviews(tmp_path / "clean.csv")))
    report = check(reviews(tmp_path / "bad.csv", **{column: cells}))
    assert found(report)[code] == ROWS[code]


def test_all_faults_of_cells_in_one_file_are_found_together(tmp_path: Path, check: Check) -> None:
    changed: dict[str, dict[int, object]] = {"text": {}, "label": {}}
    for column, cells in BAD_CELLS.values():
        changed[column] |= cells
    expected = ROWS | {"contradiction": (35, 37, 38, 39)}
    report = found(check(reviews(tmp_path / "bad.csv", **changed)))
    assert {code: report.get(code) for code in expected} == expected

"""The tables of docs/how-to/new-data.md and its Korean page, from results/benchmarks/shift.json."""

from collections.abc import Mapping, Sequence
from typing import Any

from finetune.commands.table.files import Cells, markdown_table

FRESH = "fresh rows"
KOREAN = {
    FRESH: "같은 데이터의 새 행",
    "other domain": "다른 분야",
    "other source": "다른 출처",
    "other language": "다른 언어",
    "typos in 3 % of the letters": "글자 3%에 오타",
    "cut to half": "절반에서 잘린 텍스트",
    "capitals": "모두 대문자",
    "damaged encoding": "깨진 인코딩",
    "80 % of one class": "한 클래스가 80%",
    "one text in 20 % of the rows": "20%의 행이 같은 텍스트",
    "swapped columns": "뒤바뀐 열",
}


def shift_table(measured: dict[str, Any]) -> str:
    """In how many draws of each set and size a shift was found."""
    columns, cells = _cells(measured)
    heads = ["new rows", *(f"{name}, {size}" for name, size in columns)]
    lines: list[Cells] = [[name, *(_share(cells.get((name, *column))) for column in columns)] for name in KOREAN]
    sets = "; ".join(f"{name}: {about}" for name, about in measured["sets"].items())
    text = (
        "Draws in which a shift is found, with 100 and with 500 new rows, next to "
        f"{measured['reference_rows']} rows of dev, at a level of {100 * measured['level']:.0f} %; the first line is "
        f"false alarms. Each draw has another dev set and other new rows. {sets}. {measured['model']}, one epoch on "
        f"{measured['train_rows']} rows, {measured['permutations']} permutations. {measured['cpu']['name']}, "
        f"{measured['date'][:10]}.{_note(measured)}"
    )
    return f"{markdown_table(heads, lines)}\n\n{text}"


def shift_table_ko(measured: dict[str, Any]) -> str:
    """The same in Korean."""
    columns, cells = _cells(measured)
    heads = ["새 행", *(f"{name}, {size}행" for name, size in columns)]
    return markdown_table(
        heads,
        [
            [shown, *(_share(cells.get((name, *column)), "{}/{}") for column in columns)]
            for name, shown in KOREAN.items()
        ],
    )


def _cells(measured: dict[str, Any]) -> tuple[list[tuple[str, str]], dict[tuple[str, str, str], Sequence[Any]]]:
    """The columns (set, size), and the draws by shift, set and size."""
    cells = {}
    for key, draws in measured["found"].items():
        name, shift, size = key.split(": ")
        cells[shift, name, size] = draws
    sizes = sorted({size for *_, size in cells}, key=int)
    return [(name, size) for name in measured["sets"] for size in sizes if (FRESH, name, size) in cells], cells


def _share(draws: Sequence[Any] | None, form: str = "{} of {}") -> str:
    return "" if not draws else form.format(sum(map(bool, draws)), len(draws))


def _note(measured: Mapping[str, Any]) -> str:
    """What the note of `predict` costs, by set."""
    cost = [
        f"{one['cpu_seconds_of_note']:.2f} s of CPU for {name}, {one['cpu_seconds_of_note'] / one['cpu_seconds']:.1%} "
        f"of predicting {one['rows']} rows"
        for name, one in measured.get("note", {}).items()
    ]
    text = ", ".join(cost).replace("%", " %")
    return f" The note of `predict`, which looks at 200 rows of any file: {text}, without loading." if cost else ""

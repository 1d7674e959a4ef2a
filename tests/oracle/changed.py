"""Tables that mean the same after a change: order, names, header, further columns, delimiters, quotes, encodings, ends,
formats with types, numbers as texts.

Each variant of a base table must be read as its rows, or a question must lead to them: one of its choices, or a setting
that the message names.
"""

import csv
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous, single_settings

from .bases import BASES, EXTRAS, NAMES_OF, Base
from .files import Columns, Dialect, put, put_lines, put_parquet, put_sheet, put_table
from .layout import Outcome, Written, difference, read, same

MOST_QUESTIONS = 3  # until the rows are read
ENCODINGS = {
    **{"en": ("latin-1",), "de": ("cp1252",), "ru": ("cp1251", "koi8-r"), "tr": ("cp1254",), "id": ("cp1252",)},
    **{"ko": ("cp949",), "ja": ("cp932", "euc_jp"), "zh": ("gb18030",)},
}


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A base table after changes: `names` are those in the file; `typed`: numbers and lists are written as such where
    the format has them.
    """

    base: Base
    columns: Columns
    names: Mapping[str, str]
    dialect: Dialect = field(default_factory=Dialect)
    suffix: str = ".csv"
    typed: bool = False
    done: tuple[str, ...] = ()

    @property
    def named(self) -> bool:
        """Whether names still tell what a column is."""
        return self.dialect.header and "opaque names" not in self.done

    def spelled(self, name: str) -> str:
        """A column's name as settings have it."""
        return self.names[name] if self.dialect.header else f"column {list(self.columns).index(name) + 1}"


Change = Callable[[Variant, random.Random], Variant]


def variant(base: Base, seed: int) -> Variant:
    """A base after one to four changes, the same for the same seed."""
    draw = random.Random(f"{base.name} {seed}")
    made = Variant(base=base, columns=base.columns, names={name: name for name in base.columns})
    for what in draw.sample(list(CHANGES), draw.randint(1, 4)):
        made = replace(CHANGES[what](made, draw), done=(*made.done, what))
    return _encoded(made if made.named else _in_order(made))


def judged(made: Variant, folder: Path) -> Outcome:
    """Whether the tool reads the rows, at once or after questions that lead to them."""
    written = _written(made, folder)
    tried = _tried(written, {}, made)
    return Outcome(tried.verdict, f"{', '.join(made.done)}: {written.path.name}: {tried.seen}")


def _tried(written: Written, given: dict[str, str], made: Variant) -> Outcome:
    try:
        found = read(written, given)
    except Ambiguous as question:
        choices = [dict(one.split("=", 1) for one in single_settings(choice)) for choice, _ in question.choices]
        ways = [given | choice for choice in choices if _is_right(choice, _answers(made))]
        asked = str(question)
    except UserError as error:
        asked, answers = str(error), _answers(made)
        named = {name: value for name, value in answers.items() if f"{name}=" in asked and name not in given}
        ways = [given | named] if named else []
    except Exception as error:
        return Outcome("wrong", f"{type(error).__name__}: {error}")
    else:
        return Outcome("right") if same(found, written.rows) else Outcome("wrong", difference(found, written.rows))
    leads = len(given) < MOST_QUESTIONS and any(_tried(written, way, made).verdict != "wrong" for way in ways)
    return Outcome("asks" if leads else "wrong", asked)


def _is_right(choice: Mapping[str, str], answers: Mapping[str, str]) -> bool:
    """Whether a choice says nothing else than the answers; several columns may be named in any order."""
    return all(
        sorted(value.split(",")) == sorted(answers.get(name, value).split(",")) for name, value in choice.items()
    )


def _answers(made: Variant) -> dict[str, str]:
    text, label = (",".join(map(made.spelled, names)) for names in (made.base.text, made.base.label))
    return {"text": text, "label": label, "shape": made.base.shape, "encoding": made.dialect.encoding}


def _written(made: Variant, folder: Path) -> Written:
    table = {made.names[name]: cells for name, cells in made.columns.items()}
    path = folder / f"data{made.suffix}"
    if made.suffix in TYPED:
        cells_of = {name: [_typed(cell, made) for cell in cells] for name, cells in table.items()}
        rows = [dict(zip(table, cells, strict=True)) for cells in zip(*cells_of.values(), strict=True)]
        TYPED[made.suffix](path, rows)
    else:
        put_table(path, table, made.dialect)
    cells = [dict(zip(made.columns, row, strict=True)) for row in zip(*made.columns.values(), strict=True)]
    return Written(path=path, rows=[made.base.row(row, made.spelled) for row in cells])


def _typed(cell: str, made: Variant) -> Any:
    """A cell as a number or a list, where it is written as one and the format holds it: Parquet has no mixed lists."""
    if made.typed and re.fullmatch(r"-?(0|[1-9]\d*)(\.\d*[1-9])?", cell):
        return json.loads(cell)
    lists = made.suffix in (".json", ".jsonl") or (made.suffix == ".parquet" and '"' not in cell)
    return json.loads(cell) if made.typed and cell.startswith("[") and lists else cell


TYPED: Mapping[str, Callable[[Path, list[dict[str, Any]]], Path]] = {
    ".jsonl": put_lines,
    ".json": lambda path, rows: put(path, json.dumps(rows, ensure_ascii=False)),
    ".parquet": put_parquet,
    ".xlsx": put_sheet,
}


def _rows(made: Variant, draw: random.Random) -> Variant:
    order = list(range(len(made.base)))
    draw.shuffle(order)
    return replace(made, columns={name: [cells[place] for place in order] for name, cells in made.columns.items()})


def _columns(made: Variant, draw: random.Random) -> Variant:
    names = draw.sample(list(made.columns), len(made.columns))
    return replace(made, columns={name: made.columns[name] for name in names})


def _in_order(made: Variant) -> Variant:
    """Without names only their order tells which text is the first one."""
    own = iter([name for name in made.base.columns if name in (*made.base.text, *made.base.label)])
    moved = [next(own) if name in (*made.base.text, *made.base.label) else name for name in made.columns]
    return replace(made, columns={name: made.columns[name] for name in moved})


def _other_names(made: Variant, draw: random.Random) -> Variant:
    """Names in other words or languages, of which each means the same."""
    if not made.named:
        return made
    names = {name: draw.choice(NAMES_OF.get(name, (name,))) for name in made.names}
    return replace(made, names=made.names | names if len({*names.values()}) == len(names) else made.names)


def _opaque_names(made: Variant, draw: random.Random) -> Variant:
    style = draw.choice(["field_{}", "V{}", "поле {}", "열{}", "kolom_{}"])
    letters = draw.sample("kmpqrsuvwxz", len(made.columns))
    return replace(made, names={name: style.format(sign) for name, sign in zip(made.columns, letters, strict=True)})


def _other_case(made: Variant, draw: random.Random) -> Variant:
    change = draw.choice([str.upper, str.title, lambda name: f" {name} ".replace("_", " ").strip()])
    return replace(made, names={name: change(spelled) for name, spelled in made.names.items()})


def _no_header(made: Variant, _: random.Random) -> Variant:
    plain = made.suffix in TYPED or len(made.base.label) > 1
    return made if plain else replace(made, dialect=replace(made.dialect, header=False))


def _more_columns(made: Variant, draw: random.Random) -> Variant:
    """Up to three columns that are neither a text nor a label, somewhere between the others."""
    columns, names = dict(made.columns), dict(made.names)
    free = [name for name in EXTRAS if name != "verified" or len(made.base.label) == 1]  # else one more flag
    for name in draw.sample(free, draw.randint(1, 3)):
        at, cells = draw.randint(0, len(columns)), EXTRAS[name](len(made.base), draw)
        columns = dict([*columns.items()][:at]) | {name: cells} | dict([*columns.items()][at:])
        names[name] = name if made.named else f"{next(iter(made.names.values()))} {name[::-1]}"
    return replace(made, columns=columns, names=names)


def _delimiter(made: Variant, draw: random.Random) -> Variant:
    sign, suffix = draw.choice([("\t", ".tsv"), (";", ".csv"), ("|", ".txt"), ("\t", ".txt"), (",", ".txt")])
    return made if made.suffix in TYPED else replace(made, dialect=replace(made.dialect, delimiter=sign), suffix=suffix)


def _quotes(made: Variant, draw: random.Random) -> Variant:
    return replace(made, dialect=replace(made.dialect, quoting=draw.choice([csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])))


def _encoding(made: Variant, draw: random.Random) -> Variant:
    encoding = draw.choice(["utf-8-sig", "utf-16", *ENCODINGS[made.base.language]])
    return replace(made, dialect=replace(made.dialect, encoding=encoding))


def _encoded(made: Variant) -> Variant:
    """In UTF-8 where the encoding lacks a character of another change."""
    try:
        "".join([*made.names.values(), *chain.from_iterable(made.columns.values())]).encode(made.dialect.encoding)
    except UnicodeEncodeError:
        return replace(made, dialect=replace(made.dialect, encoding="utf-8"))
    return made


def _ends(made: Variant, draw: random.Random) -> Variant:
    return replace(made, dialect=replace(made.dialect, ends=draw.choice(["\r\n", "\r"])))


def _format(made: Variant, draw: random.Random) -> Variant:
    """A format with types, in which numbers are numbers, or texts."""
    typed = draw.random() < 0.5
    return replace(made, suffix=draw.choice([*TYPED]), typed=typed, dialect=replace(made.dialect, header=True))


CHANGES: Mapping[str, Change] = {
    "rows in another order": _rows,
    "columns in another order": _columns,
    "other names": _other_names,
    "opaque names": _opaque_names,
    "names in another case": _other_case,
    "no header": _no_header,
    "more columns": _more_columns,
    "delimiter": _delimiter,
    "quotes": _quotes,
    "encoding": _encoding,
    "line ends": _ends,
    "format": _format,
}


def variants(each: int, *, first: int = 0) -> Sequence[tuple[Base, int]]:
    """So many variants of each base, by their seeds."""
    return [(base, seed) for base in BASES for seed in range(first, first + each)]

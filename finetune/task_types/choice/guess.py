"""Guesses which columns are a context and its choices, and how labels name the choices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Any
from unicodedata import normalize

from finetune.data.messages import shown
from finetune.data.table import Table
from finetune.data.values import as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.errors import UserError, nearest
from finetune.gone import gone
from finetune.task_types.candidates import Ambiguous, copied, described
from finetune.task_types.choice_labels import LETTERS, WAYS, choices_meant, choices_of
from finetune.task_types.column_names import (
    first_number,
    is_about,
    is_id_name,
    label_tier,
    name_words_of,
    named,
    numbered_groups,
    place_of,
    stem_of,
)
from finetune.task_types.columns import Layout
from finetune.task_types.own_type import Evidence

CHOICES = ("text", "category", "number", "id")  # kinds of columns that may hold choices


ROWS_LOOKED_AT = 5_000
ROWS_TRIED = 500  # of a column that may hold the answers
KINDS = ("category", "number", "text", "id")  # of columns that may hold the answers
MOST_OF_LABELS = 0.9  # share of the labels that a way of naming choices fits
SELDOM_OF_LABELS = 0.02  # share below which labels of one kind may be mistakes
TIMES_MORE = 10  # times as many labels that count from one number as from the other


def choice_layout(evidence: Evidence, *, any_stem: bool = False) -> Layout | None:
    """A context and its choices, from a list or from columns, with the column that says which choice is right.

    `any_stem`: the user says that there are choices, so columns such as `sol1` and `sol2` are.

    Raises Ambiguous where several texts could be the context, or several columns the answer.
    """
    facts = evidence.facts
    choices = choices_in(evidence)
    if not choices and any_stem:
        groups = numbered_groups(n for n, fact in facts.items() if fact.kind in ("text", "category", "id"))
        choices = max(groups.values(), key=len, default=[])
    if not choices:
        return None
    label = tuple(evidence.chosen.get("label", ())) or answer_column(
        Layout(shape="choice", text=(*choices,), contexts=0), evidence
    )
    contexts = _contexts(evidence, choices, label)
    if not contexts:
        return None
    single = facts[choices[0]].kind == "list"
    reasons = {"shape": f"a list of choices in {choices[0]}" if single else f"the columns {', '.join(choices)}"}
    text = (*contexts, *choices)
    if others := [n for n, fact in facts.items() if fact.kind == "text" and n not in (*text, *label)]:
        added = copied(f"text={','.join((others[0], *text))}")
        reasons["text"] = f"without {', '.join(others[:5])}: shape=choice {added} adds one"
    return Layout(shape="choice", text=text, contexts=len(contexts), label=label, reasons=reasons)


def choices_in(evidence: Evidence) -> list[str]:
    """A list of choices; or columns named choice1, ending0, option_a, or A, B and C; or columns that cells of another
    column name; empty without any.
    """
    facts = evidence.facts
    lists = [n for n in facts if facts[n].kind == "list" and {*name_words_of(n)} & {*word_list("choices")}]
    if lists:
        return [min(lists, key=lambda n: (name_words_of(n)[-1] in ("label", "labels", "id", "key"), n.count(".")))]
    plain = [name for name, fact in facts.items() if fact.kind in CHOICES]
    groups = [group for stem, group in numbered_groups(plain).items() if stem in word_list("choice_stem")]
    if columns := [*groups, _lettered(plain)][0]:
        return columns
    texts = [name for name, fact in facts.items() if fact.kind in ("text", "category") and not fact.marks]
    for name in (name for name in texts if facts[name].kind == "category"):
        cells = [as_text(cell).strip() for cell in evidence.filled(name, ROWS_LOOKED_AT)]
        group = [other for other in texts if other != name and other in cells]
        if len(group) > 1 and sum(cell in group for cell in cells) > MOST_OF_LABELS * len(cells):
            return group
    return []


def contexts_in(text: Sequence[str], evidence: Evidence) -> int:
    """How many of the columns that the user named are the context: all before a list, before columns of choices, or
    before choices of one stem.
    """
    if evidence.facts[text[-1]].kind == "list":
        return max(1, len(text) - 1)
    choices = choices_in(evidence)
    first = next((place for place, name in enumerate(text) if name in choices), 0)
    if first and set(text[first:]) <= set(choices):
        return first
    stem = stem_of(text[-1])
    return next((i for i, name in enumerate(text) if i and stem and stem_of(name) == stem), 1)


def _contexts(evidence: Evidence, choices: Sequence[str], label: Sequence[str]) -> tuple[str, ...]:
    """The context columns, which choices continue or answer: one, or a passage and a question about it."""
    facts = evidence.facts
    rest = [n for n in facts if n not in (*choices, *label) and facts[n].kind in ("text", "category")]
    few = [n for n in rest if not is_about(n) and not is_id_name(n)]  # many rows may have the same question
    texts = [name for name in few if facts[name].kind == "text"]
    passage = named(texts, word_list("choice_context")) or named(few, word_list("choice_passage"))
    passage = passage or named(texts, word_list("text"))
    if named_contexts := (*passage[:1], *named(few, word_list("choice_question"))[:1]):
        return named_contexts
    long = [name for name in texts if facts[name].words >= 2] or texts
    if len(long) > 1:
        raise Ambiguous(
            f"{evidence.file}: {len(long)} columns could be the context of the choices",
            [(f"shape=choice text={','.join([name, *choices])}", "") for name in long[:5]],
        )
    return tuple(long or sorted(rest, key=lambda name: -facts[name].words)[:1])


def _lettered(names: Sequence[str]) -> list[str]:
    """The columns A, B, C and so on, or with signs for letters or numbers (①); none where there are only two, which
    could be a pair of texts.
    """
    plain = {normalize("NFKC", name).upper(): name for name in names}
    numbers = {sign: name for sign, name in plain.items() if sign != name}  # not 1, 2, 3: columns without a name
    letters = [plain[letter] for letter in takewhile(plain.__contains__, LETTERS)]
    columns = letters or [numbers[str(n)] for n in takewhile(lambda n: str(n) in numbers, range(1, len(plain) + 1))]
    return columns if len(columns) > 2 else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A label, the choices of its row, and which of them it means in each way."""

    cell: Any
    choices: tuple[str, ...]
    row: int
    meant: Mapping[str, int]


def columns_of_choices(layout: Layout) -> tuple[str, ...]:
    """The columns of the choices; none where one column holds a list of them."""
    columns = layout.text[layout.contexts :]
    return columns if len(columns) > 1 else ()


def labelled_rows(layout: Layout, columns: Mapping[str, Sequence[Any]], most: int = ROWS_LOOKED_AT) -> list[Labelled]:
    """The first rows that have a label."""
    names = columns_of_choices(layout)
    rows = zip(columns[layout.label[0]], *(columns[name] for name in layout.text[layout.contexts :]), strict=True)
    labelled = ((row, cell, choices_of(cells)) for row, (cell, *cells) in enumerate(rows) if not is_missing(cell))
    return [
        Labelled(cell=cell, choices=choices, row=row, meant=choices_meant(cell, choices, names))
        for row, cell, choices in islice(labelled, most)
    ]


def way_of(layout: Layout) -> str:
    """How labels name the choices, as one of WAYS; empty where it is open."""
    return str(layout.counted_from) if layout.choices_by == "number" else layout.choices_by


def with_way(layout: Layout, table: Table, way_named: str = "") -> Layout:
    """The layout with how labels name the choices: as `way_named`, else in the one way that fits nearly all.

    Raises Ambiguous where labels mean other choices in another way, and UserError for a way that does not exist.
    """
    if way_named and way_named not in WAYS:
        ways = f"{nearest(way_named, list(WAYS))}It is one of {', '.join(WAYS)}"
        raise gone(f"choices_by={way_named}") or UserError(f"choices_by is '{way_named}'", ways)
    labelled = labelled_rows(layout, table.columns)
    columns = columns_of_choices(layout)
    fitting = [way_named] if way_named else _fitting(labelled, columns)
    for row in labelled:
        meant = {way: row.meant[way] for way in fitting if way in row.meant}
        if len({*meant.values()}) > 1:
            what = f"{table.path}: row {table.rows[row.row]}: the label {shown(as_text(row.cell))} may mean two choices"
            names = columns or [f"choice {place + 1} of the list" for place in range(len(row.choices))]
            choices = [(f"choices_by={way}", f"{shown(row.choices[at])}, {names[at]}") for way, at in meant.items()]
            raise Ambiguous(what, choices)
    if not fitting:
        return replace(layout, counted_from=_first(labelled, columns) or 0)
    if fitting[0].isdecimal():
        return replace(layout, choices_by="number", counted_from=int(fitting[0]))
    return replace(layout, choices_by="text" if fitting[0] == "text" else "letter")


def answer_column(layout: Layout, evidence: Evidence) -> tuple[str, ...]:
    """The column of the right choices: its cells name choices, and its name says so; empty where none is found.

    Of several one that names them by other than numbers, which may be points. Raises Ambiguous where several are left,
    and for one whose name speaks of something else, such as a topic.
    """
    kinds = [name for name, fact in evidence.facts.items() if name not in layout.text and fact.kind in KINDS]
    sure = [name for name in kinds if _says_answer(name)]
    ways: dict[str, list[str]] = {}
    for name in kinds:
        labelled = labelled_rows(replace(layout, label=(name,)), evidence.columns, ROWS_TRIED)
        varied = len({as_text(row.cell) for row in labelled}) > 1
        ways[name] = _fitting(labelled, columns_of_choices(layout)) if varied else []
    fitting = [name for name in kinds if ways[name]]
    best = [name for name in fitting if name in sure] or fitting
    if not best:
        return tuple(sorted(sure, key=lambda name: label_tier(name) or 0)[:1])
    clear = [name for name in best if {*ways[name]}.isdisjoint("01")]
    best = clear if len(clear) == 1 else best
    if len(best) > 1 or best[0] not in sure:
        settings = [(f"label={name}", described(evidence, name)) for name in best]
        raise Ambiguous(f"{evidence.file}: it is not clear which column says which choice is right", settings)
    return (best[0],)


def _says_answer(name: str) -> bool:
    """Whether a column's name says that it holds labels or answers, and not what they are about."""
    plain = [word for word in word_list("label") if word not in word_list("label_alone")]
    words = (plain, word_list("answer"), word_list("label_weak"))
    return not is_about(name) and any(place_of(name, listed) for listed in words)


def require_same_count(layout: Layout, table: Table) -> None:
    """Raises UserError where a file counts the choices from 0 and the layout from 1, or the other way round."""
    needed = {*layout.label, *layout.text[layout.contexts :]}
    if layout.choices_by != "number" or not layout.label or not needed <= set(table.columns):
        return  # a missing column is told elsewhere
    first = _first(labelled_rows(layout, table.columns), ())
    if first is not None and first != layout.counted_from:
        raise UserError(
            f"{table.path}: its labels count the choices from {first} by their least and greatest; expected from "
            f"{layout.counted_from}",
            f"{'Subtract 1 from' if first else 'Add 1 to'} the labels of this file; if all files count so, train with "
            f"choices_by={first}",
        )


def names_of_choices(layout: Layout) -> tuple[str, ...]:
    """The names of the choices in labels, empty for those named by number."""
    return tuple(LETTERS) if layout.choices_by == "letter" else ()


def _fitting(labelled: Sequence[Labelled], columns: Sequence[str]) -> list[str]:
    """The ways that fit nearly all labels; both counts of numbers where the first number is open.

    Where none fits, and some labels are such numbers, only these two, which are asked about.
    """
    needed = MOST_OF_LABELS * len(labelled)
    fitting = [way for way in ("text", "letter") if sum(way in row.meant for row in labelled) > needed]
    numbers, first = sum("0" in row.meant or "1" in row.meant for row in labelled), _first(labelled, columns)
    if numbers > needed and first is not None:
        return [*fitting, str(first)]
    is_open = first is None and (numbers > needed or (numbers and not fitting))
    return [*fitting, "0", "1"] if is_open else fitting


def _first(labelled: Sequence[Labelled], columns: Sequence[str]) -> int | None:
    """The number of the first choice, 0 or 1: as the labels count, else as the columns do; None where it is open.

    Labels of one kind must be far more than of the other; a single wrong label moves no others.
    """
    zeros = sum(row.meant.get("0") == 0 for row in labelled)
    lasts = sum(row.meant.get("1") == len(row.choices) - 1 for row in labelled)
    less, more = sorted((zeros, lasts))
    if more <= SELDOM_OF_LABELS * len(labelled):
        return first_number(columns)
    return int(lasts > zeros) if less * TIMES_MORE <= more else None

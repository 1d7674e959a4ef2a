"""Guesses which columns are a context and its choices, and how labels name the choices."""

from collections.abc import Sequence
from itertools import islice, takewhile
from unicodedata import normalize

from finetune.data.messages import shown
from finetune.data.values import as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.task_types.candidates import Ambiguous, copied
from finetune.task_types.choice.answers import MOST_OF_LABELS, ROWS_LOOKED_AT, answer_column, labelled_rows, way_of
from finetune.task_types.choice_labels import LETTERS
from finetune.task_types.column_names import is_about, is_id_name, name_words_of, named, numbered_groups, stem_of
from finetune.task_types.columns import Layout
from finetune.task_types.own_type import Evidence

CHOICES = ("text", "category", "number", "id")  # kinds of columns that may hold choices
LEAST_ROWS = 20  # from which a choice that is never right says something
LEAST_CHOICES = 3  # choices of which one may be a placeholder


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
    """A list of choices; or columns named choice1, ending0, option_a, or A, B and C; or those that the cells of another
    column name; empty without any.
    """
    facts = evidence.facts
    lists = [n for n in facts if facts[n].kind == "list" and {*name_words_of(n)} & {*word_list("choices")}]
    if lists:
        return [min(lists, key=lambda n: (name_words_of(n)[-1] in ("label", "labels", "id", "key"), n.count(".")))]
    plain = [name for name, fact in facts.items() if fact.kind in CHOICES]
    groups = [group for stem, group in numbered_groups(plain).items() if stem in word_list("choice_stem")]
    if found := [*groups, _lettered(plain)][0]:
        return found
    texts = [name for name, fact in facts.items() if fact.kind in ("text", "category") and not fact.marks]
    for name in (name for name in texts if facts[name].kind == "category"):
        filled = (as_text(cell).strip() for cell in evidence.columns[name] if not is_missing(cell))
        cells = list(islice(filled, ROWS_LOOKED_AT))
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
    if found := (*passage[:1], *named(few, word_list("choice_question"))[:1]):
        return found
    long = [name for name in texts if facts[name].words >= 2] or texts
    if len(long) > 1:
        raise Ambiguous(
            f"{evidence.file}: {len(long)} columns could be the context of the choices",
            [(f"shape=choice text={','.join([name, *choices])}", "") for name in long[:5]],
        )
    return tuple(long or sorted(rest, key=lambda name: -facts[name].words)[:1])


def require_varied(layout: Layout, evidence: Evidence) -> None:
    """Raises Ambiguous where the last choice is a placeholder: it has the same text in all rows, and is never right."""
    columns = evidence.columns
    every = layout.text[layout.contexts :]
    last = columns[every[-1]]
    if len(every) < LEAST_CHOICES or len({as_text(cell).strip() for cell in last}) != 1 or is_missing(last[0]):
        return
    labelled = labelled_rows(layout, columns)
    ways = ("0", "1") if layout.choices_by == "number" else (way_of(layout),)
    never = (all(-1 < row.meant.get(way, -1) < len(row.choices) - 1 for row in labelled) for way in ways)
    if len(labelled) >= LEAST_ROWS and any(never):
        what = f"the choice {every[-1]} is {shown(as_text(last[0]))} in all rows and seems never right"
        raise Ambiguous(
            f"{evidence.file}: {what}",
            [
                (f"shape=choice text={','.join(layout.text[:-1])}", "without it"),
                (f"shape=choice text={','.join(layout.text)}", "with it"),
            ],
        )


def _lettered(names: Sequence[str]) -> list[str]:
    """The columns A, B, C and so on, or with signs for letters or numbers (①); none where there are only two, which
    could be a pair of texts.
    """
    plain = {normalize("NFKC", name).upper(): name for name in names}
    numbers = {sign: name for sign, name in plain.items() if sign != name}  # not 1, 2, 3: columns without a name
    letters = [plain[letter] for letter in takewhile(plain.__contains__, LETTERS)]
    found = letters or [numbers[str(n)] for n in takewhile(lambda n: str(n) in numbers, range(1, len(plain) + 1))]
    return found if len(found) > 2 else []

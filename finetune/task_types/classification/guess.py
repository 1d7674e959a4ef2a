"""Guesses which columns are one text or a pair, and its label: classes, a number, or several labels.

Forms of other tools that rows are not read in, columns that look like the choices of a question, and pairs without a
label are refused or asked about: after a near miss nothing is trained.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product

from finetune.data.column_types import DIFFERENT_WORDS
from finetune.data.formats.delimited import dialect_of, nameless_columns
from finetune.data.formats.spans import unknown_names
from finetune.data.messages import places, short
from finetune.data.table import parsed
from finetune.data.values import as_list, as_number, as_text, is_missing, is_nested
from finetune.data.words.lists import word_list
from finetune.errors import UserError
from finetune.task_types.candidates import UNLIKELY, Ambiguous, Candidate, best_label, copied, label_candidates
from finetune.task_types.choice_labels import choices_meant
from finetune.task_types.classification.label_kinds import (
    CLASSES,
    NUMBER,
    SEVERAL,
    with_label_kind,
)
from finetune.task_types.classification.spans import ends_of
from finetune.task_types.column_names import (
    is_id_name,
    label_tier,
    name_words_of,
    named,
    names_annotator,
    numbered_groups,
    text_tier,
)
from finetune.task_types.columns import Layout
from finetune.task_types.own_type import Evidence
from finetune.task_types.text_candidates import best_texts, is_free_text

OBJECTS_LOOKED_AT, CHOICES_LOOKED_AT = 200, 1_000  # rows
NEARLY_ALL = 0.9  # share of the items that are objects, and of the labels that name a choice
TRIPLE = (("query", "question", "anchor"), ("positive", "positives", "pos"), ("negative", "negatives", "neg"))
SPEECH = (("role", "content"), ("from", "value"))  # who says what in a chat
ENTITIES = {"entities", "entity", "ner", "spans", "annotations", "mentions", "slots", "relations"}
SELDOM = 0.05  # share of the rows in which an object among labels is a mistake
VARIED = 0.5  # share of different texts: labels recur
TIMES_LONGER = 5  # times longer that one choice may be than another, on average
MOST_COUNTED = 6
COLUMNS_OFFERED = 6  # columns offered as the text
OTHER = "or name another column: label=COLUMN"
NESTED = (
    'Write labels as ["a", "b"], and entities as [[start, end, label]] or [{"start": 0, "end": 3, "label": "PER"}], '
    f"by characters of the text; {OTHER}"
)


def text_layout(evidence: Evidence) -> Layout:
    """A layout for one text or a pair, with labels, a number, or several labels.

    Raises UserError where no text is found, and (as Ambiguous) where two layouts are equally likely.
    """
    _require_label(evidence)
    table, chosen, shape = evidence.table, evidence.chosen, evidence.shape
    nameless = nameless_columns(table.path, table.form)
    reasons = {name: "given" for name in ("text", "label") if name in chosen}
    label, joined = chosen.get("label"), tuple(chosen.get("joined", ()))
    text: Sequence[str] | None = chosen.get("text")
    rivals: list[Candidate] = []
    if label is None:
        label, rivals, reasons["label"] = _label(evidence, [*(text or ()), *joined, *nameless])
    _require_plain(label, evidence)
    if text is None:
        if shape is None:
            _require_no_choices(evidence, label, ())
        text, reasons["text"] = best_texts(evidence, [*label, *nameless])
        if shape is None:
            _require_no_choices(evidence, label, text)
    _require_texts(evidence, text)
    layout = Layout(
        shape=shape or CLASSES,
        text=tuple(text),
        label=tuple(label),
        rest=joined or _rest(evidence, text, nameless, label),
        delimiter=" " if joined else dialect_of(table.form).delimiter or ",",
        rivals=tuple(f"{copied(rival.setting)} ({rival.what})" for rival in rivals[:5]),
        reasons=reasons,
    )
    if shape in (CLASSES, NUMBER) and len(label) > 1:
        raise UserError(
            f"{evidence.file}: shape={shape} reads one label, and the columns {', '.join(label)} are several",
            "Set shape=multi-label, or name one: label=COLUMN",
        )
    layout = with_label_kind(layout, evidence)
    if not evidence.markers:
        return layout
    if layout.shape == SEVERAL:
        raise UserError(
            f"{evidence.file}: two marked spans have one label, and the labels are several", "Name one: label=COLUMN"
        )
    why = "their names, and spans in their cells" if evidence.marked else "markers in its texts"
    reasons = {**layout.reasons, "spans": "given" if evidence.spans_given else why}
    ends = evidence.span_ends or ends_of(evidence, text[0])
    return replace(layout, reasons=reasons, marked=evidence.marked, markers=evidence.markers, span_ends=ends)


def _require_texts(evidence: Evidence, text: Sequence[str]) -> None:
    """Raises UserError unless there is one text, or two that are not marked."""
    if not text:
        names = [name for name in evidence.facts if not is_id_name(name)] or list(evidence.facts)
        raise UserError(
            f"{evidence.file}: no column with texts was found", f"Name it: text=COLUMN, one of {', '.join(names[:20])}"
        )
    if len(text) > 2:
        raise UserError(
            f"{len(text)} text columns were given: {', '.join(text)}",
            "Give one, or two that make a pair; for a context and its choices set shape=choice",
        )
    if evidence.markers and len(text) > 1:
        raise UserError(
            f"{evidence.file}: two spans are marked in one text, not in {' and '.join(text)}", "Name one: text=COLUMN"
        )


def _label(evidence: Evidence, taken: Sequence[str]) -> tuple[list[str], list[Candidate], str]:
    """(the label's columns, other candidates, why these)."""
    facts = evidence.facts
    asked = named(facts, word_list("question")) if named(facts, word_list("context")) else []
    candidates = label_candidates(evidence, [*taken, *asked])  # a question about a context is never the label
    if all(candidate.level > 1 for candidate in candidates):
        _require_no_objects(evidence)
    best, rivals = best_label(candidates, evidence)
    if best is None:
        return [], rivals, "none was found"
    why = best.what
    if len(best.columns) == 1 and best.level <= 2:
        why = "its name"
    elif len(best.columns) == 1 and sum(candidate.level < UNLIKELY for candidate in candidates) == 1:
        why = "the only column that could be one"
    return list(best.columns), rivals, why


def _rest(evidence: Evidence, text: Sequence[str], nameless: Sequence[str], label: Sequence[str]) -> tuple[str, ...]:
    """Columns without a name that continue the text: all that follow it, if no other column does.

    Raises UserError where such columns hold texts and it is not clear what they belong to.
    """
    facts, names = evidence.facts, list(evidence.columns)
    filled = [name for name in nameless if facts[name].kind != "empty" and name not in (*text, *label)]
    after = names[names.index(text[-1]) + 1 :]
    if filled and len(text) == 1 and {*after} <= {*nameless} - {*label}:
        return tuple(after)
    texts = [name for name in filled if facts[name].kind == "text" and facts[name].words > 1]
    if texts and "text" not in evidence.chosen:
        example = as_text(evidence.filled(texts[0], 1)[0])
        raise UserError(
            f"{evidence.file}: {texts[0]} has no name in the header but holds texts such as '{example[:40]}'",
            f"Quote cells that hold the delimiter, or name the text: {copied(f'text={text[0]}')}",
        )
    return ()


def require_rows(evidence: Evidence) -> None:
    """Raises UserError for a table that is a known form of another tool, with how to write its rows; only where the
    user named neither columns nor a type.
    """
    if evidence.shape is None and not {"text", "label"} & {*evidence.chosen}:
        for what, rows in _forms(evidence):
            raise UserError(f"{evidence.file}: has {what}, which are not read", f"Write {rows}")


def _forms(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """(what a table has, the rows that are read instead)."""
    facts, columns = evidence.facts, evidence.columns
    texts = [name for name in facts if facts[name].kind in ("list", "text", "id", "category")]
    query, right, wrong = ([n for n in texts if {*name_words_of(n)} & {*words}] for words in TRIPLE)
    if len(query) == 1 and right and wrong and not any(facts[name].marks for name in (*right, *wrong)):
        names = ", ".join((*query, *right, *wrong))
        rows = "a row for each passage: query, passage, relevance (1 or 0), which shape=ranking reads"
        yield f"queries with passages in columns ({names})", rows
    labelled = any(label_tier(name) in (0, 1) for name in facts)
    for name, (who, what) in product(columns, SPEECH) if not labelled else ():
        speakers = columns.get(f"{name}.{who}", ())[:OBJECTS_LOOKED_AT] if f"{name}.{what}" in columns else ()
        names_of_speakers = (item for cell in speakers for item in (as_list(cell) or [cell]))
        if any(isinstance(item, str) and not item.isdecimal() for item in names_of_speakers):  # and no place
            rows = "a text and its label a row, such as what was asked last and what was answered"
            yield f"messages of chats (the column '{name}')", rows
    if {"subj_start", "obj_start"} <= {*columns}:
        yield "relations in TACRED's columns", 'subject and object as {"start": 0, "end": 3} of a text'


def _require_no_objects(evidence: Evidence) -> None:
    """Raises UserError for a column that is called like labels, or like entities, and holds lists of objects."""
    table = evidence.table
    for name in (name for name in evidence.facts if name not in table.derived):
        entities = bool(ENTITIES & {*name_words_of(name)})
        if label_tier(name) is None and not entities:
            continue
        cells = [cell for cell in map(parsed, islice(table.columns[name], OBJECTS_LOOKED_AT)) if not is_missing(cell)]
        items = [item for cell in cells for item in (cell if isinstance(cell, list) else [cell])]
        objects = [item for item in items if isinstance(item, dict)]
        single = any(isinstance(cell, dict) and not any(isinstance(v, list) for v in cell.values()) for cell in cells)
        if objects and not single and len(objects) >= NEARLY_ALL * len(items):
            if entities:
                first = next(i for i, cell in enumerate(table.columns[name]) if is_nested(parsed(cell)))
                place, seen = (
                    places([(table.rows[first], table.lines[first])], most=1),
                    short(table.columns[name][first]),
                )
                what = f"the column '{name}' holds objects, not labels or entities with their places in the text"
                raise UserError(f"{table.path}: {what}: {place} has {seen}", NESTED)
            _require_plain([name], evidence)


def _require_plain(label: Sequence[str], evidence: Evidence) -> None:
    """Raises UserError where labels are objects, with their fields, or lists of lists or objects.

    Few such cells are faults of their rows.
    """
    table, facts = evidence.table, evidence.facts
    for name in label:
        cells, column = table.columns[name], f"{table.path}: the column '{name}'"
        fields = [copied(f"label={other}") for other in facts if other.startswith(f"{name}.")]
        if facts[name].kind == "object" and fields:
            raise UserError(f"{column} holds objects, not labels", f"Choose a field: {', '.join(fields[:6])}")
        nested = [index for index, cell in enumerate(cells) if is_nested(cell)]
        if len(nested) <= max(1, SELDOM * len(table)):
            continue
        if offsets := unknown_names(cells[:1000]):
            raise UserError(
                f"{column} has offsets by unknown names: {', '.join(offsets)}",
                f"Call them start and end (after the last character), and the label label; {OTHER}",
            )
        place = places([(table.rows[nested[0]], table.lines[nested[0]])], most=1)
        raise UserError(f"{table.path}: {place}: '{name}' holds {short(cells[nested[0]])}, not labels", NESTED)


def _require_label(evidence: Evidence) -> None:
    """Raises Ambiguous for two columns of texts that vary, or of words, and no label: a pair whose label is missing, or
    texts to pre-train on.
    """
    if evidence.shape is not None or evidence.chosen or evidence.markers:
        return
    filled = [fact for fact in evidence.facts.values() if fact.kind != "empty"]
    varied = [f for f in filled if not is_id_name(f.name) and f.distinct > VARIED * f.filled and f.share >= VARIED]
    texts = [fact.name for fact in varied if is_free_text(fact)]
    if not texts and varied == filled and all(label_tier(fact.name) is None for fact in filled):
        texts = [fact.name for fact in varied if fact.kind in ("text", "category", "id")]
    if len(texts) != 2 or any(candidate.level < UNLIKELY for candidate in label_candidates(evidence, texts)):
        return
    _require_no_objects(evidence)
    first, second = texts
    raise Ambiguous(
        f"{evidence.file}: has two columns of texts, '{first}' and '{second}', and no label",
        [
            (f"text={first},{second} label=COLUMN", "they are a pair, once the file has a column of labels"),
            ("shape=text", "they are texts without labels, to pre-train on"),
        ],
    )


def _require_no_choices(evidence: Evidence, label: Sequence[str], text: Sequence[str]) -> None:
    """Raises Ambiguous where columns look like choices, and the guess uses some of them as a text, or none."""
    answers = _values(evidence, label[0]) if len(label) == 1 else set()
    facts = {
        name: fact
        for name, fact in evidence.facts.items()
        if not names_annotator(name) and (name in label or not set() < _values(evidence, name) <= answers)
    }
    texts = [
        name
        for name, fact in facts.items()
        if name not in label and (fact.kind in ("text", "category") or fact.why == DIFFERENT_WORDS)
    ]
    packed = [name for name in texts if {*name_words_of(name)} & {*word_list("choices")}]
    if packed and label:
        what = f"the column '{packed[0]}' looks like several choices in one text; write them as a JSON list"
        raise Ambiguous(
            f"{evidence.file}: {what}",
            [(f"text={name}", f"without {packed[0]}") for name in texts if name not in packed][:COLUMNS_OFFERED],
        )
    questions: list[list[str]] = []
    for group in numbered_groups(texts).values():
        prose = [n for n, fact in facts.items() if fact.kind == "text" and (fact.words >= 3 or fact.unspaced)]
        context = [name for name in prose if name not in (*group, *label)][:1]
        two = bool(context) and (set(group) == set(text) or text_tier(group[0]) is None)
        could_say = label or [name for name in facts if label_tier(name) is not None and name not in group]
        varied = [facts[n] for n in could_say if n in facts and facts[n].kind in ("text", "id")]
        varied = [fact for fact in varied if fact.distinct > VARIED * fact.filled]
        right = [fact.name for fact in varied if fact.length < TIMES_LONGER * facts[group[0]].length]
        if right or ((len(group) > 2 or two) and _names_one(evidence, label, group)):
            questions.append([*context, *group, *right])
    for window in islice(_counted(evidence, texts, label), COLUMNS_OFFERED):
        questions += [window] if window not in questions else []
    if questions:
        choices = [(f"shape=choice text={','.join(names)}", "a question and its choices") for names in questions]
        if len(questions[0]) <= 3:
            choices.append((f"text={','.join(questions[0][-2:])}", "as a pair"))
        texts.sort(key=lambda name: (text_tier(name) is None, -facts[name].length))
        choices += [(f"text={name}", f"{facts[name].words:.0f} words a row") for name in texts[:COLUMNS_OFFERED]]
        what = f"the columns {', '.join(questions[0][1:])} look like choices of one question"
        raise Ambiguous(f"{evidence.file}: {what}", choices)


def _values(evidence: Evidence, name: str) -> set[str]:
    return set(map(as_text, evidence.filled(name, CHOICES_LOOKED_AT)))


def _names_one(evidence: Evidence, label: Sequence[str], group: Sequence[str]) -> bool:
    """Whether labels are numbers of the columns, from 0 or 1, their letters, or what one of their cells says."""
    if len(label) != 1:
        return not label
    rows = zip(*(evidence.columns[name][:CHOICES_LOOKED_AT] for name in (*label, *group)), strict=True)
    labelled = [(cell, list(map(as_text, choices))) for cell, *choices in rows if not is_missing(cell)]
    ways = Counter(way for cell, choices in labelled for way in choices_meant(cell, choices, group))
    if max(ways["0"], ways["1"]) >= NEARLY_ALL * len(labelled):  # numbers: of two texts they are classes, if more
        return len(group) > 2 or len({as_text(cell) for cell, _ in labelled}) == 2
    return max(ways.values(), default=0) >= NEARLY_ALL * len(labelled)


def _counted(evidence: Evidence, names: Sequence[str], label: Sequence[str]) -> Iterator[list[str]]:
    """A text and as many columns after it as the label has letters or numbers, which are alike in length."""
    count, facts = _count_of(evidence, label), evidence.facts
    long = [name for name in names if facts[name].kind == "text"]
    for texts in (names, long) if 2 < count <= MOST_COUNTED else ():
        for start in range(len(texts) - count):
            context, *choices = texts[start : start + count + 1]
            lengths = [facts[name].length for name in choices]
            if facts[context].kind == "text" and max(lengths) <= TIMES_LONGER * min(lengths):
                yield [context, *choices]


def _count_of(evidence: Evidence, label: Sequence[str]) -> int:
    """How many letters a label has, or how far its numbers count; of numbers 0 where a column's name says text."""
    fact = evidence.facts[label[0]] if len(label) == 1 else None
    if fact is None or (fact.letters and fact.kind == "category"):
        return fact.distinct if fact else 0
    if fact.kind != "number" or not fact.whole or any(text_tier(name) in (0, 1) for name in evidence.facts):
        return 0
    numbers = set(map(as_number, evidence.filled(fact.name)))
    return len(numbers) if numbers in (set(range(len(numbers))), set(range(1, len(numbers) + 1))) else 0

"""Forms of other tools that rows are not read in: each is refused by its name, with what to write instead; and texts
without a label, which are asked about. After a near miss nothing is trained.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from finetune.data.column_types import ColumnFacts
from finetune.data.formats.labelling_tools import TACRED
from finetune.data.formats.spans import unknown_names
from finetune.data.messages import places, short
from finetune.data.nested_fields import parsed
from finetune.data.table import Table
from finetune.data.values import as_list, is_missing, is_nested
from finetune.errors import UserError
from finetune.task_types.candidates import UNLIKELY, Ambiguous, copied, label_candidates
from finetune.task_types.column_names import is_id_name, label_tier, name_words_of
from finetune.task_types.data_type import Evidence
from finetune.task_types.text_candidates import is_free_text

ROWS_LOOKED_AT = 200
NEARLY_ALL = 0.9  # share of the items that are objects
TRIPLE = (("query", "question", "anchor"), ("positive", "positives", "pos"), ("negative", "negatives", "neg"))
SPEECH = (("role", "content"), ("from", "value"))  # who says what in a chat
ENTITIES = ("entities", "entity", "ner", "spans", "annotations", "mentions", "slots", "relations")
SELDOM = 0.05  # share of the rows in which an object among labels is a mistake
VARIED = 0.5  # share of different texts: labels recur
OTHER = "or name another column: label=COLUMN"
NESTED = (
    'Write labels as ["a", "b"], and entities as [[start, end, label]] or [{"start": 0, "end": 3, "label": "PER"}], '
    f"by characters of the text; {OTHER}"
)


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
    for name, (who, what) in product(columns, SPEECH):
        speakers = columns.get(f"{name}.{who}", ())[:ROWS_LOOKED_AT] if f"{name}.{what}" in columns else ()
        said = (item for cell in speakers for item in (as_list(cell) or [cell]))
        if not labelled and any(isinstance(item, str) and not item.isdecimal() for item in said):  # and no place
            rows = "a text and its label a row, such as what was asked last and what was answered"
            yield f"messages of chats (the column '{name}')", rows
    if {*TACRED} <= {*columns}:
        yield "relations in TACRED's columns", 'subject and object as {"start": 0, "end": 3} of a text'


def require_no_objects(table: Table, facts: Mapping[str, ColumnFacts]) -> None:
    """Raises UserError for a column that is called like labels, or like entities, and holds lists of objects."""
    for name in (name for name in facts if name not in table.derived):
        entities = not {*name_words_of(name)}.isdisjoint(ENTITIES)
        if label_tier(name) is None and not entities:
            continue
        cells = [cell for cell in map(parsed, islice(table.columns[name], ROWS_LOOKED_AT)) if not is_missing(cell)]
        items = [item for cell in cells for item in (cell if isinstance(cell, list) else [cell])]
        objects = [item for item in items if isinstance(item, dict)]
        single = any(isinstance(cell, dict) and not any(isinstance(v, list) for v in cell.values()) for cell in cells)
        if objects and not single and len(objects) >= NEARLY_ALL * len(items):
            if entities:
                what = "objects, not labels or entities with their places"
                raise UserError(f"{table.path}: the column '{name}' holds {what}", NESTED)
            require_plain([name], facts, table)


def require_plain(label: Sequence[str], facts: Mapping[str, ColumnFacts], table: Table) -> None:
    """Raises UserError where labels are objects, with their fields, or lists of lists or objects.

    Few such cells are faults of their rows.
    """
    for name in label:
        cells = table.columns[name]
        fields = [other for other in facts if other.startswith(f"{name}.")]
        if facts[name].kind == "object" and fields:
            raise UserError(
                f"{table.path}: the column '{name}' holds objects, not labels",
                f"Choose a field: {', '.join(copied(f'label={field}') for field in fields[:6])}",
            )
        nested = [index for index, cell in enumerate(cells) if is_nested(cell)]
        if len(nested) > max(1, SELDOM * len(table)):
            if offsets := unknown_names(cells[:1000]):
                raise UserError(
                    f"{table.path}: the column '{name}' has offsets by unknown names: {', '.join(offsets)}",
                    f"Call them start and end (after the last character), and the label label; {OTHER}",
                )
            place = places([(table.rows[nested[0]], table.lines[nested[0]])], most=1)
            raise UserError(f"{table.path}: {place}: '{name}' holds {short(cells[nested[0]])}, not labels", NESTED)


def require_label(evidence: Evidence) -> None:
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
    require_no_objects(evidence.table, evidence.facts)
    first, second = texts
    raise Ambiguous(
        f"{evidence.file}: has two columns of texts, '{first}' and '{second}', and no label",
        [
            (f"text={first},{second} label=COLUMN", "they are a pair, once the file has a column of labels"),
            ("shape=text", "they are texts without labels, to pre-train on"),
        ],
    )

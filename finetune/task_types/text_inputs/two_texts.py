"""Two columns of texts and no label: a pair whose label is missing, or texts to pre-train on. The user is asked."""

from collections.abc import Mapping

from finetune.data.column_types import ColumnFacts
from finetune.task_types.candidates import UNLIKELY, Ambiguous, label_candidates
from finetune.task_types.column_names import is_id_name, label_tier
from finetune.task_types.data_type import Evidence
from finetune.task_types.text_inputs.near_misses import require_no_objects

WORDS = 1.2  # mean words of a cell from which a column may be a text
WORD_KINDS = ("text", "category", "id")  # of columns
VARIED = 0.5  # share of different cells: labels recur


def require_label(evidence: Evidence) -> None:
    """Raises Ambiguous for two columns of texts without a label."""
    if evidence.shape is not None or evidence.chosen or evidence.markers:
        return
    texts = _texts(evidence.facts) or _words(evidence.facts)
    if len(texts) != 2 or any(evidence.facts[name].share < VARIED for name in texts):
        return
    labels = label_candidates(evidence.facts, evidence.columns, texts)
    if any(candidate.level < UNLIKELY for candidate in labels):
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


def _words(facts: Mapping[str, ColumnFacts]) -> list[str]:
    """The columns of single words, in a file without others, none of which is called a label."""
    filled = [name for name, fact in facts.items() if fact.kind != "empty"]
    some = [name for name in filled if facts[name].kind in WORD_KINDS and not is_id_name(name)]
    labels = any(label_tier(name) is not None for name in filled)
    varied = all(facts[name].distinct > VARIED * facts[name].filled for name in some)
    return some if some == filled and varied and not labels else []


def _texts(facts: Mapping[str, ColumnFacts]) -> list[str]:
    """The columns of texts that vary."""
    return [
        name
        for name, fact in facts.items()
        if fact.kind == "text"
        and not is_id_name(name)
        and (fact.words >= WORDS or fact.unspaced)
        and fact.distinct > VARIED * fact.filled
    ]

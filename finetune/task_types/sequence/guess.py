"""Which column is the source of a target that the user named; two texts without a label are asked about."""

from collections.abc import Mapping, Sequence

from finetune.data.column_types import ColumnFacts
from finetune.errors import UserError
from finetune.task_types.candidates import UNLIKELY, Ambiguous, label_candidates
from finetune.task_types.column_names import is_id_name, label_tier
from finetune.task_types.data_type import Evidence

WORDS = 1.2  # mean words of a cell from which a column may be a text
WORD_KINDS = ("text", "category", "id")  # of columns
NO_TEXTS = ("empty", "object")  # kinds of columns
VARIED = 0.5  # share of different cells: labels recur


def only_source(evidence: Evidence, target: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The source's column, and why. Raises UserError for several sources or targets, and Ambiguous for several columns
    that may be the source.
    """
    if len(target) > 1:
        raise UserError(f"{evidence.file}: a target is one column, not {', '.join(target)}", f"Name one: {target[0]}")
    given = evidence.chosen.get("text", ())
    if len(given) > 1:
        raise UserError(
            f"{evidence.file}: a source is one column, not {', '.join(given)}",
            f"Name one: text={given[0]}, or join them in the file",
        )
    if target and target[0] in given:
        raise UserError(f"{evidence.file}: '{target[0]}' is both source and target", "Name two columns: text= target=")
    if given:
        return given[0], {"text": "given", "label": "given"}
    others = {name: fact for name, fact in evidence.facts.items() if name not in target}
    some = _texts(others) or [n for n, fact in others.items() if fact.kind not in NO_TEXTS and not is_id_name(n)]
    if not some:
        what = f"{evidence.file}: has no column of sources other than '{', '.join(target)}'"
        raise UserError(what, "Name it: text=COLUMN")
    if len(some) > 1:
        choices = [(f"text={name}", f"{others[name].words:.0f} words a row") for name in some]
        raise Ambiguous(f"{evidence.file}: {len(some)} columns could be the source", choices)
    return some[0], {"text": "the only other column of texts", "label": "given"}


def require_meant(evidence: Evidence) -> None:
    """Raises Ambiguous for two columns of texts without a label, which may be a pair, or a source and its target."""
    if evidence.shape is not None or evidence.chosen or evidence.markers:
        return
    texts = _texts(evidence.facts) or _words(evidence.facts)
    if len(texts) != 2 or any(evidence.facts[name].share < VARIED for name in texts):
        return
    labels = label_candidates(evidence.facts, evidence.columns, texts)
    if any(one.level < UNLIKELY for one in labels):
        return
    one, other = texts
    raise Ambiguous(
        f"{evidence.file}: has two columns of texts, '{one}' and '{other}', and no label",
        [
            (f"target={other}", f"'{other}' is written from '{one}'"),
            (f"target={one}", f"'{one}' is written from '{other}'"),
            (f"text={one},{other} label=COLUMN", "they are a pair, once the file has a column of labels"),
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

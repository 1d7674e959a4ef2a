"""Entities in tag sequences: conlleval's chunks, and strict IOB2 chunks."""

from collections.abc import Sequence

Chunk = tuple[str, int, int]  # type, first word, word after the last
LETTERS = frozenset("BIESLU")
PREFIXES = {"L": "E", "U": "S"}  # BILOU's names for what IOBES calls E and S


def split_tag(tag: str) -> tuple[str, str]:
    """`B-PER` as ("B", "PER"), `O` as ("O", ""); a tag without a scheme, such as `NOUN`, as ("S", "NOUN")."""
    prefix, dash, kind = tag.partition("-")
    if (prefix not in LETTERS or not dash) and tag != "O":
        return "S", tag
    return PREFIXES.get(prefix, prefix), kind


def chunks(tags: Sequence[str]) -> list[Chunk]:
    """Chunks as in conlleval (CoNLL-2000 shared task): an I-X that does not follow an X begins one.

    This reads IOB1, IOB2, IOBES and BILOU alike.
    """
    entities: list[Chunk] = []
    before, before_kind = "O", ""
    for word, (prefix, kind) in enumerate(map(split_tag, tags)):
        if prefix != "O":
            begins = prefix in "BS" or before in "OES" or kind != before_kind
            start = word if begins else entities.pop()[1]
            entities.append((kind, start, word + 1))
        before, before_kind = prefix, kind
    return entities


def strict_chunks(tags: Sequence[str]) -> list[Chunk]:
    """Strict IOB2 chunks: B-X and the I-X right after it; any other I-X is ignored."""
    entities: list[Chunk] = []
    open_kind: str | None = None
    for word, (prefix, kind) in enumerate(map(split_tag, tags)):
        open_kind = kind if prefix == "B" or (prefix == "I" and kind == open_kind) else None
        if open_kind is not None:
            start = word if prefix == "B" else entities.pop()[1]
            entities.append((kind, start, word + 1))
    return entities


def to_iob2(tags: Sequence[str]) -> list[str]:
    """The tags in IOB2 of the same entities, from IOB1, IOB2, IOBES or BILOU."""
    new = ["O"] * len(tags)
    for kind, start, end in chunks(tags):
        new[start] = f"B-{kind}"
        new[start + 1 : end] = [f"I-{kind}"] * (end - start - 1)
    return new

"""A language in which the next word is known: that of its document."""

import random
from pathlib import Path

from support.encoders import WORDS


def write_corpus(file: Path, *, documents: int, seed: int = 0) -> Path:
    """A file of documents of three lines of one word, of 6 to 14 times each, nearly all different."""
    drawn = random.Random(seed)
    words = drawn.choices(WORDS, k=documents)
    texts = ["\n".join(" ".join([word] * drawn.randint(6, 14)) for _ in range(3)) for word in words]
    file.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    return file


def write_groups(file: Path, *, documents: int, seed: int = 0) -> Path:
    """A file of documents of three lines of one word, 5 to 8 times each: the first line has one of three words, the
    second one of three others, and so the third. Every word is known from its line, and the order of the lines.
    """
    drawn, groups = random.Random(seed), (WORDS[:3], WORDS[3:6], WORDS[6:9])
    texts = [
        "\n".join(" ".join([drawn.choice(group)] * drawn.randint(5, 8)) for group in groups) for _ in range(documents)
    ]
    file.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    return file

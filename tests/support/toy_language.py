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

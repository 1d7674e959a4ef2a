"""Made-up documents, and their pieces for an encoder's tokenizer, in memory."""

import random
from collections.abc import Sequence
from pathlib import Path

from finetune.data.documents import Document
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types.pretraining.pieces import PieceFeatures, tokens_of, vocabulary_of
from support.encoders import WORDS

RARE = ("catlike", "houses", "redder", "moonsun", "x9", "dog's")  # words of several tokens
PROSE = "the old river runs past a small hill where many birds sing in winter and nobody leaves".split()  # noqa: SIM905
TINY_RUN = ("model=new:1x32x1", "train.updates=2", "max_length=32")
TOKENIZERS = ("tiny_bert", "tiny_roberta", "tiny_albert")  # WordPiece, byte-level BPE, Unigram with metaspaces


def sentence(number: int) -> str:
    """A few words of PROSE, others for each number."""
    places = (number + step * (1 + number // 20) for step in range(5 + number % 4))
    return f"{number} {' '.join(PROSE[place % len(PROSE)] for place in places)}."


def documents(count: int, *, lines: tuple[int, int] = (1, 6), seed: int = 0) -> list[Document]:
    """Random documents of so many lines, of words of one token and of several."""
    drawn = random.Random(seed)
    return [Document(str(number), tuple(_line(drawn) for _ in range(drawn.randint(*lines)))) for number in range(count)]


def piece_features(rows: Sequence[Document], folder: Path, *, size: int) -> PieceFeatures:
    """The pieces of documents, of at most `size` tokens, as features of training."""
    tokenizer = load_tokenizer(folder)
    return PieceFeatures(tokens_of(rows, tokenizer), vocabulary_of(tokenizer), size=size)


def _line(drawn: random.Random) -> str:
    return " ".join(drawn.choices((*WORDS, *RARE), k=drawn.randint(3, 14)))

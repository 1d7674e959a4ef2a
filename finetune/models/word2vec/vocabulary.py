"""The words of word2vec: those that come twice or more in the training text, written as they are there."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from finetune.errors import UserError
from finetune.models.encoder_sizes import POSITIONS
from finetune.models.tokenizers.alphabet import word_counts
from finetune.models.tokenizers.kinds import KINDS, OF_BERT
from finetune.models.word2vec.skip_gram import WordIds

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

LEAST_COUNT = 2
MOST_WORDS = 200_000
TEXTS_AT_ONCE = 10_000


def word_tokenizer(texts: Sequence[str]) -> "PreTrainedTokenizerFast":
    """A tokenizer whose tokens are words and signs, the most frequent first; of equal counts by their letters.

    A word that comes once in the texts, or not at all, is [UNK]: in training its vector learns what is around words
    that come once, which is what those of new texts resemble most.
    Raises UserError where no word comes twice.
    """
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    backend = KINDS["wordpiece"].untrained(lower=False)
    counts = Counter[str]()
    for some in word_counts(texts, backend):
        counts.update(some)
    frequent = sorted((word for word, count in counts.items() if count >= LEAST_COUNT), key=lambda w: (-counts[w], w))
    if not frequent:
        raise UserError(
            f"model word2vec: of {len(texts):,} training texts no word comes twice, so there is nothing to learn",
            "Give more rows, or another model",
        )
    tokens = [*OF_BERT.tokens, *(word for word in frequent if word not in OF_BERT.tokens)][:MOST_WORDS]
    numbers = {token: number for number, token in enumerate(tokens)}
    backend.model = WordLevel(numbers, unk_token=OF_BERT.names["unk_token"])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=POSITIONS, model_input_names=list(OF_BERT.inputs), **OF_BERT.names
    )


def word_ids(texts: Sequence[str], tokenizer: "PreTrainedTokenizerFast") -> WordIds:
    """The words of the texts by their numbers."""
    ids, lengths = list[int](), list[int]()
    for begin in range(0, len(texts), TEXTS_AT_ONCE):
        some = list(texts[begin : begin + TEXTS_AT_ONCE])
        for found in tokenizer(some, add_special_tokens=False, verbose=False)["input_ids"]:
            ids += found
            lengths.append(len(found))
    return WordIds(ids=np.array(ids, np.int64), texts=np.repeat(np.arange(len(lengths)), lengths))

"""Trains a tokenizer. Equal texts and settings give equal bytes, whatever the process and the number of threads.

The library's own WordPiece training does not: ids of continuing pieces follow the order of a hash table. So WordPiece
is trained as BPE over words whose continuing characters are marked, after all characters have their ids. Pre-training
on a text without a vocabulary trains one, once, in the cache.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import regex

from finetune.data.messages import percent, so_many
from finetune.errors import UserError
from finetune.models.tokenizers.encoding import POSITIONS
from finetune.runs.events import Event, Note, Watcher, Working, unwatched
from finetune.runs.recipe import Recipe
from finetune.runs.settings import is_new
from finetune.storage.cache import FACTS, Entry, entry, hash_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

LATER = "##"  # before a piece of WordPiece that does not begin a word
LONGEST_WORD = 100  # characters; a longer word is unknown, as in the original code
OF_BERT = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}


def untrained(*, lower: bool, accents: bool = False) -> "Tokenizer":
    """BERT's tokenizer with an empty model: it splits texts into words and adds special tokens.

    Lower-casing strips accents too, unless `accents` are to stay.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    backend, tokens = Tokenizer(models.BPE()), list(OF_BERT.values())
    sep, cls = ((OF_BERT[name], tokens.index(OF_BERT[name])) for name in ("sep_token", "cls_token"))
    bert = normalizers.BertNormalizer(lowercase=lower, strip_accents=lower and not accents)
    # Stripping accents divides the syllables of Hangul: NFC composes them again.
    backend.normalizer = normalizers.Sequence([bert, normalizers.NFC()])
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(LATER)
    backend.post_processor = processors.BertProcessing(sep, cls)
    return backend


JOINING = re.compile("[\x0b\x0c\x1c-\x1f\x85]+")  # Python splits at these characters, BERT's normalizer removes them
COVERED = 0.9999  # share of the text that the characters of a vocabulary make up; others are unknown tokens
AT_MOST = 0.75  # share of a small vocabulary for characters
LEAST_COVERED = 0.99  # as COVERED, of a small vocabulary
LEAST_COUNT = 2  # of a pair that is merged
ACCENTS = "accents are kept: in this script marks are parts of letters, which lower-casing would strip with accents"
HANGUL = "Hangul is kept whole: lower-casing strips accents, and syllables are composed again after it"
SYLLABLE = re.compile("[\u1100-\u11ff\uac00-\ud7a3]")  # or a letter of one
SHARE_OF_CHARS = 0.01  # of a text; if so many are marks that are parts of letters, accents stay
KANA = "".join(char for char in map(chr, range(0x3040, 0x3100)) if unicodedata.normalize("NFD", char) != char)
OTHERS = r"\p{Latin}\p{Greek}\p{Cyrillic}\p{Arabic}\p{Hebrew}"  # read without accents or points
MARKS = regex.compile(rf"(?<=[\p{{L}}--[{OTHERS}]])\p{{Mn}}|[{KANA}]", regex.V1)


def train_tokenizer(
    lines: Sequence[str], *, size: int, least: int | None = None, lower: bool = True, watch: Watcher = unwatched
) -> "PreTrainedTokenizerFast":
    """A WordPiece tokenizer with `size` tokens, trained on lines of text.

    A text with words for fewer tokens gives these, if they are at least `least` (default: `size`). Raises UserError for
    a text without words, and for a `size` that is too small for its characters or too large for its words.
    """
    from tokenizers import AddedToken, models, trainers
    from transformers import PreTrainedTokenizerFast

    special = list(OF_BERT.values())
    watch(Working("counting characters"))
    marks = sum(len(MARKS.findall(line)) for line in lines if not line.isascii()) if lower else 0
    accents = marks >= SHARE_OF_CHARS * max(1, sum(map(len, lines))) if marks else False
    trained = untrained(lower=lower, accents=accents)
    characters, later = _alphabet(lines, trained, room=size - len(special), watch=watch)
    if not characters:
        raise UserError("the corpus has no text", "Name files with text")
    if accents:
        watch(Note(ACCENTS))
    elif lower and SYLLABLE.search("".join(characters)):
        watch(Note(HANGUL))
    watch(Working("counting words and merging pairs"))
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=LEAST_COUNT,
        special_tokens=[*special, *later],
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        show_progress=False,
        continuing_subword_prefix=LATER,
    )
    trained.train_from_iterator(lines, trainer)
    learned = trained.get_vocab_size()
    if learned < (size if least is None else least):
        raise UserError(
            f"the text has words for {so_many(learned, 'token')}, and `size` is {size:,}",
            f"Give more text, or `size` {learned}",
        )
    whole = untrained(lower=lower, accents=accents)
    whole.model = models.WordPiece(  # the vocabulary of BPE without its merges: the longest piece wins
        trained.get_vocab(),
        unk_token=OF_BERT["unk_token"],
        continuing_subword_prefix=LATER,
        max_input_chars_per_word=LONGEST_WORD,
    )
    whole.add_special_tokens([AddedToken(token) for token in special])
    return PreTrainedTokenizerFast(
        tokenizer_object=whole,
        model_max_length=POSITIONS,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **OF_BERT,
    )


def _alphabet(lines: Sequence[str], backend: "Tokenizer", *, room: int, watch: Watcher) -> tuple[list[str], list[str]]:
    """The most frequent characters that make up COVERED of the lines (of equal counts the first by code), and the
    marked forms of those that continue a word; both in the order of codes.

    Where they do not fit into `room` tokens, the most frequent that take AT_MOST of it; a marked form is a token too.
    Raises UserError where these cover too little of the text.
    """
    first, later = Counter[str](), Counter[str]()
    strings = Counter(string for line in lines for string in JOINING.sub("", line).split())
    for string, count in strings.items():  # normalizing each string once takes less time
        for word, _ in backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(string)):
            first[word[0]] += count
            for char in word[1:]:
                later[char] += count
    counts = first + later
    in_order = sorted(counts, key=lambda char: (-counts[char], char))
    shares = np.cumsum([counts[char] for char in in_order]) / max(1, counts.total())
    tokens = np.cumsum([1 + (char in later) for char in in_order])
    count = int(np.searchsorted(shares, COVERED)) + 1
    if (need := int(tokens[:count].max(initial=0))) > room:
        count = int(np.searchsorted(tokens, AT_MOST * room, side="right"))
    covered = float(shares[:count].max(initial=0))
    size = room + len(OF_BERT)
    if need and covered < LEAST_COVERED:
        need += len(OF_BERT)
        raise UserError(
            f"`size` is {size:,}: the text's characters and the special tokens alone need {need:,}",
            f"Give `size` {need} or more",
        )
    if need and covered < COVERED:
        rare = f"{percent(1 - covered)} of the text's characters are too rare for {so_many(size, 'token')}"
        watch(Note(f"{rare}: they become unknown tokens"))
    characters = sorted(in_order[:count])
    return characters, [LATER + char for char in characters if char in later]


FORMAT = 1
SIZE = 8192  # tokens


def trained_size(recipe: Recipe) -> int:
    """The size of the vocabulary that a run trains first, in tokens; 0 if it trains none."""
    return 0 if recipe.tokenizer_folder or not is_new(recipe.model) else int(recipe.tokenizer or SIZE)


def own_vocabulary(lines: Sequence[str], *, content: str, size: int, watch: Watcher) -> Path:
    """The folder of a WordPiece of at most `size` tokens, trained on these lines; `content` is a hash of the text.

    Raises UserError where the cache cannot be written, or none can be trained.
    """
    saved = entry("vocabularies", hash_of([FORMAT, size, content, version("tokenizers")]))
    notes: list[str] = []

    def watch_notes(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event.text)
        else:
            watch(event)

    def make() -> None:
        try:
            trained = train_tokenizer(lines, size=size, least=0, watch=watch_notes)
        except UserError as error:
            remedy = f"{error.way_out}; or name the folder of a vocabulary: finetune tokenizer TEXTS -o vocabulary"
            raise UserError(
                f"no vocabulary can be trained: {error.what}".replace("`size`", "tokenizer"),
                remedy.replace("`size` ", "tokenizer="),
            ) from error
        trained.save_pretrained(saved.folder)
        files = {file.name for file in saved.folder.glob("*.json")} - {FACTS}
        saved.seal(files, tokens=len(trained), notes=notes)

    saved.ensure(make)
    return saved.folder


def training_notes(folder: Path, tokens: int, fingerprint: str | None, *, size: int) -> list[str]:
    """The notes of a run on the vocabulary in `folder`: it has so many `tokens`, where `size` were wanted."""
    fewer = f", fewer than {size:,} since the text has no more words" if tokens < size else ""
    named = f" ({fingerprint[:10]})" if fingerprint else ""
    training = (Entry(folder).facts() or {}).get("notes", [])
    return [f"the vocabulary was trained on the text: WordPiece{named} of {tokens:,} tokens{fewer}", *training]

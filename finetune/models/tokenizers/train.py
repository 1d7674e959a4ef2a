"""Trains a tokenizer. Equal texts and settings give equal bytes, in other processes and with other thread counts.

The library's WordPiece training does not: it gives ids to continuing pieces in the order of a hash table. So WordPiece
is trained here as BPE over words whose continuing characters are marked, and all characters have their ids before.
A run on a text that names no vocabulary trains one, once, which is kept in the cache.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import regex

from finetune.data.messages import percent, so_many
from finetune.errors import UserError
from finetune.models.tokenizers.encoding import POSITIONS
from finetune.runs.events import Event, Note, Watcher, Working, unwatched
from finetune.runs.recipe import Recipe, is_new
from finetune.storage.cache import FACTS, Entry, entry, hash_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

LATER = "##"  # before a piece of WordPiece that does not begin a word
SPACE = "▁"  # before a piece of BPE that begins a word, as in SentencePiece
SIGNS = rf"{SPACE}?[^\p{{L}}\p{{N}}\p{{M}}{SPACE}]"  # which BPE does not merge with letters
LONGEST_WORD = 100  # characters of a word of WordPiece; a longer one is unknown, as in the original code
OF_BERT = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
OF_ROBERTA = {
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}


@dataclass(frozen=True, kw_only=True)
class TokenizerKind:
    """A kind of tokenizer that is trained.

    `special` are the special tokens by transformers' names, in the order of their ids. `lower` is whether it is
    lower-cased by default. `mark` comes before a piece that does not begin a word; without one, a space belongs to the
    piece after it. The characters of a kind `of_bytes` are the 256 bytes.
    """

    special: Mapping[str, str]
    lower: bool = False
    mark: str = ""
    of_bytes: bool = False

    def untrained(self, *, lower: bool, accents: bool = False) -> "Tokenizer":
        """A tokenizer that splits texts into words and adds special tokens, with an empty model.

        One that is lower-cased strips accents too, unless they are to be kept.
        """
        from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

        backend, tokens = Tokenizer(models.BPE()), list(self.special.values())
        sep, cls = ((self.special[name], tokens.index(self.special[name])) for name in ("sep_token", "cls_token"))
        if self.of_bytes:
            backend.normalizer = normalizers.Sequence([normalizers.NFC(), *[normalizers.Lowercase()] * lower])
            backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
            backend.decoder = decoders.ByteLevel()
            backend.post_processor = processors.RobertaProcessing(sep, cls, trim_offsets=True, add_prefix_space=True)
            return backend
        bert = normalizers.BertNormalizer(lowercase=lower, strip_accents=lower and not accents)
        # To strip accents takes Hangul's syllables apart: NFC composes them again.
        backend.normalizer = normalizers.Sequence([bert, normalizers.NFC()])
        backend.pre_tokenizer, backend.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(LATER)
        if not self.mark:
            signs = pre_tokenizers.Split(Regex(SIGNS), "isolated")
            backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(SPACE), signs])
            backend.decoder = decoders.Metaspace(SPACE)
        backend.post_processor = processors.BertProcessing(sep, cls)
        return backend


KINDS = {
    "wordpiece": TokenizerKind(special=OF_BERT, lower=True, mark=LATER),
    "bpe": TokenizerKind(special=OF_BERT),
    "byte-bpe": TokenizerKind(special=OF_ROBERTA, of_bytes=True),
}
JOINING = re.compile("[\x0b\x0c\x1c-\x1f\x85]+")  # Python splits there; BERT's normalizer removes them
COVERED = 0.9999  # share of the text's characters; the rest are unknown tokens
AT_MOST = 0.75  # of a vocabulary in which they do not fit
LEAST_COVERED = 0.99  # share of the text that its characters make up
LEAST_COUNT = 2  # of a pair that is merged
ACCENTS = "accents are kept: in this script marks are parts of letters, which lower-casing would strip with accents"
HANGUL = "Hangul is kept whole: lower-casing strips accents, and syllables are composed again after it"
SYLLABLE = re.compile("[\u1100-\u11ff\uac00-\ud7a3]")  # or a letter of one
SHARE_OF_CHARS = 0.01  # of marks that are parts of letters in a text
KANA = "".join(char for char in map(chr, range(0x3040, 0x3100)) if unicodedata.normalize("NFD", char) != char)
OTHERS = r"\p{Latin}\p{Greek}\p{Cyrillic}\p{Arabic}\p{Hebrew}"  # read without accents or points
MARKS = regex.compile(rf"(?<=[\p{{L}}--[{OTHERS}]])\p{{Mn}}|[{KANA}]", regex.V1)


def train_tokenizer(
    lines: Sequence[str],
    *,
    size: int,
    least: int | None = None,
    kind: str = "wordpiece",
    lower: bool | None = None,
    watch: Watcher = unwatched,
) -> "PreTrainedTokenizerFast":
    """A tokenizer with a vocabulary of `size` tokens, from lines of text, which are encoded by themselves.

    Where they have words for fewer tokens, these are taken if they are at least `least` (default: `size`). `kind` is
    one of KINDS, which says whether it is lower-cased by default.
    Raises UserError for lines without a word, and for a size that is too small for their characters or too large for
    their words.
    """
    from tokenizers import AddedToken, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    rules = KINDS[kind]
    special, unknown = list(rules.special.values()), rules.special["unk_token"]
    watch(Working("counting characters"))
    lower = rules.lower if lower is None else lower
    marks = sum(len(MARKS.findall(line)) for line in lines if not line.isascii()) if lower else 0
    accents = marks >= SHARE_OF_CHARS * max(1, sum(map(len, lines))) if marks else False
    trained = rules.untrained(lower=lower, accents=accents)
    if rules.of_bytes:
        characters, later = sorted(pre_tokenizers.ByteLevel.alphabet()), list[str]()
    else:
        characters, later = _alphabet(lines, trained, size=size, special=len(special), mark=rules.mark, watch=watch)
    if not any(map(str.strip, lines)) or not characters:
        raise UserError("the corpus has no text", "Name files with text")
    if accents:
        watch(Note(ACCENTS))
    elif lower and SYLLABLE.search("".join(characters)):
        watch(Note(HANGUL))
    first = [*special, *later]
    if size < (need := len(first) + len(characters)):
        raise UserError(
            f"`size` is {size:,}: the bytes and the special tokens alone need {need:,}", f"Give `size` {need} or more"
        )
    watch(Working("counting words and merging pairs"))
    prefix: dict[str, Any] = {"continuing_subword_prefix": rules.mark} if rules.mark else {}
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=LEAST_COUNT,
        special_tokens=first,
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        show_progress=False,
        **prefix,
    )
    trained.train_from_iterator(lines, trainer)
    learned = trained.get_vocab_size()
    if learned < (size if least is None else least):
        raise UserError(
            f"the text has words for {so_many(learned, 'token')}, and `size` is {size:,}",
            f"Give more text, or `size` {learned}",
        )
    whole = rules.untrained(lower=lower, accents=accents)
    model: Any = trained.model
    if rules.mark:  # it has the vocabulary of BPE, and finds the longest pieces without its merges
        model = models.WordPiece(
            trained.get_vocab(),
            unk_token=unknown,
            continuing_subword_prefix=rules.mark,
            max_input_chars_per_word=LONGEST_WORD,
        )
    elif not rules.of_bytes:
        model.unk_token, model.fuse_unk = unknown, True
    whole.model = model
    # A mask takes the space before it where a space belongs to the token after it.
    spaced = "" if rules.mark else rules.special["mask_token"]
    whole.add_special_tokens([AddedToken(token, lstrip=token == spaced) for token in special])
    inputs = ["input_ids", *["token_type_ids"] * (not rules.of_bytes), "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=whole, model_max_length=POSITIONS, model_input_names=inputs, **rules.special
    )


def _alphabet(
    lines: Sequence[str], backend: "Tokenizer", *, size: int, special: int, mark: str, watch: Watcher
) -> tuple[list[str], list[str]]:
    """The most frequent characters that together make up COVERED of the lines, of equal counts the first by code, and
    with the `mark` those that follow another in a word, each in the order of their codes.

    Where they do not fit next to the special tokens, the most frequent that take AT_MOST of the room: one that follows
    another takes two where it is marked. Raises UserError where too many are left out.
    """
    first, later = Counter[str](), Counter[str]()
    strings = Counter(string for line in lines for string in JOINING.sub("", line).split())
    for string, count in strings.items():  # each once
        for word, _ in backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(string)):
            first[word[0]] += count
            for char in word[1:]:
                later[char] += count
    counts, room = first + later, size - special
    in_order = sorted(counts, key=lambda char: (-counts[char], char))
    shares = np.cumsum([counts[char] for char in in_order]) / max(1, counts.total())
    tokens = np.cumsum([1 + (bool(mark) and char in later) for char in in_order])
    count = int(np.searchsorted(shares, COVERED)) + 1
    if (need := int(tokens[:count].max(initial=0))) > room:
        count = int(np.searchsorted(tokens, AT_MOST * room, side="right"))
    covered = float(shares[:count].max(initial=0))
    if need and covered < LEAST_COVERED:
        need += special
        raise UserError(
            f"`size` is {size:,}: the text's characters and the special tokens alone need {need:,}",
            f"Give `size` {need} or more",
        )
    if need and covered < COVERED:
        rare = f"{percent(1 - covered)} of the text's characters are too rare for {so_many(size, 'token')}"
        watch(Note(f"{rare}: they become unknown tokens"))
    characters = sorted(in_order[:count])
    return characters, [mark + char for char in characters if mark and char in later]


FORMAT = 1
SIZE = 8192  # tokens


def trained_size(recipe: Recipe) -> int:
    """The wanted size of the vocabulary to train first; 0 for a run that trains none."""
    return 0 if recipe.tokenizer_folder or not is_new(recipe.model) else int(recipe.tokenizer or SIZE)


def own_vocabulary(lines: Sequence[str], *, content: str, size: int, watch: Watcher) -> Path:
    """The folder of a WordPiece of `size` tokens, or of fewer where the lines have words for no more; `content` is a
    hash of the text.

    Raises UserError where the cache cannot be written, and where none can be trained.
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

    with saved.required():
        saved.read_or_make(read=dict, make=make)
    return saved.folder


def training_notes(folder: Path, tokens: int, fingerprint: str | None, *, size: int) -> list[str]:
    """What a run says about the vocabulary in a folder of so many tokens, of which `size` were wanted, and what its
    training said.
    """
    fewer = f", fewer than {size:,} since the text has no more words" if tokens < size else ""
    named = f" ({fingerprint[:10]})" if fingerprint else ""
    training = (Entry(folder).facts() or {}).get("notes", [])
    return [f"the vocabulary was trained on the text: WordPiece{named} of {tokens:,} tokens{fewer}", *training]

"""Fast tokenizers of SentencePiece vocabularies, for model folders without tokenizer.json.

transformers 5 reads XLM-R's and CamemBERT's as SentencePiece does. Of vocabularies with [CLS] and [SEP] it drops parts:
DeBERTa's and BigBird's table of characters, without which full-width letters are unknown, and RemBERT's [CLS]; it does
not know KoBERT's. These are made here from the same file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.data.paths import read_small
from finetune.errors import UserError

if TYPE_CHECKING:
    from tokenizers import Tokenizer, normalizers
    from transformers import PreTrainedTokenizerBase

MOST_BYTES = 1 << 26  # of a vocabulary
SPACE = "▁"  # before a piece that begins a word
KINDS = ("", "Unigram", "BPE", "words", "characters")  # SentencePiece's model types by their numbers
CONTROL, DEFINED = 3, 4  # types of pieces that are matched before a text is split
SPECIAL = {  # spellings by transformers' names; the first that the vocabulary has is used
    "unk_token": ("[UNK]", "<unk>"),
    "pad_token": ("[PAD]", "<pad>"),
    "cls_token": ("[CLS]",),
    "sep_token": ("[SEP]",),
    "mask_token": ("[MASK]",),
}
PROBE = "1  Ａ b"  # two spaces and a full-width letter, which some tokenizers lose
FEWER = 100  # subtracted from the score of pieces such as `9,`, so that the comma is a piece by itself


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """Changes of a text before SentencePiece: lower case, accents stripped, ``quotes'' and numbers cleaned."""

    lower: bool = False
    accents: bool = True
    cleaned: bool = False


SPELLINGS = {
    "albert": Spelling(lower=True, accents=False, cleaned=True),
    "bert": Spelling(accents=False, cleaned=True),  # KoBERT's
    "distilbert": Spelling(accents=False, cleaned=True),
    "fnet": Spelling(cleaned=True),
    "rembert": Spelling(cleaned=True),
}


def sentencepiece_tokenizer(
    folder: Path, config: Mapping[str, Any], settings: Mapping[str, Any]
) -> "PreTrainedTokenizerBase | None":
    """The tokenizer of a folder with a SentencePiece vocabulary alone that has [CLS] and [SEP]; None for others.

    `config` is the model's; `settings` are tokenizer_config.json. Ids are the order of the pieces, or of KoBERT's
    vocab.txt. Raises UserError where sentencepiece is not installed.
    """
    from transformers import PreTrainedTokenizerFast

    if (file := vocabulary_file(folder)) is None:
        return None
    model, listed = _read(file), folder / "vocab.txt"
    pieces = {piece.piece: piece for piece in model.pieces}
    tokens = list(pieces)
    if listed.is_file():
        tokens = [line.strip() for line in read_small(listed, most=MOST_BYTES).decode().rstrip("\n").split("\n")]
        if 2 * sum(token in pieces for token in tokens) < len(tokens):
            raise UserError(
                f"{listed}: most of its tokens are not in the SentencePiece vocabulary next to it",
                "Leave the one that the model was trained with",
            )
    if not {"[CLS]", "[SEP]"} <= set(tokens):
        return None
    special = {name: next(filter(tokens.__contains__, forms), forms[0]) for name, forms in SPECIAL.items()}
    tokens += [token for token in special.values() if token not in tokens]  # DeBERTa's [MASK] is after its pieces
    family = SPELLINGS.get(str(config.get("model_type")), Spelling())
    spelling = Spelling(
        lower=bool(settings.get("do_lower_case", family.lower)),
        accents=bool(settings.get("keep_accents", family.accents)),
        cleaned=family.cleaned,
    )
    backend = _untrained(model, pieces, tokens, special["unk_token"], spelling)
    _frame(backend, model, special, punctuation=bool(settings.get("split_by_punct")))
    segments = ["token_type_ids"] if config.get("type_vocab_size", 2 * ("model_type" not in config)) > 1 else []
    longest = {name: settings[name] for name in ("model_max_length",) if name in settings}
    names = ["input_ids", *segments, "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=backend, model_input_names=names, **special, **longest)


def other_pieces(folder: Path, tokenizer: "PreTrainedTokenizerBase") -> str:
    """How transformers' tokenizer of a folder's vocabulary differs from SentencePiece; empty if it does not.

    transformers makes an empty tokenizer, or one of another kind, without an error.
    """
    if (file := vocabulary_file(folder)) is None:
        return ""
    theirs, ours = KINDS[_read(file).trainer_spec.model_type], type(tokenizer.backend_tokenizer.model).__name__
    if theirs != ours:
        return f"transformers reads the {theirs} of {file.name} as {ours}"
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_file=str(file))
    vocabulary = {processor.id_to_piece(number) for number in range(processor.get_piece_size())} - {tokenizer.unk_token}
    both = (processor.encode(PROBE, out_type=str), tokenizer.tokenize(PROBE))
    # The two may divide unknown characters into different numbers of pieces.
    theirs, ours = (
        " ".join(key for key, _ in groupby(piece if piece in vocabulary else "?" for piece in pieces))
        for pieces in both
    )
    return "" if theirs == ours else f"'{PROBE}' is {ours}, and {theirs} in {file.name}"


def vocabulary_file(folder: Path) -> Path | None:
    """The SentencePiece model of a folder that has no other file of its tokenizer. Raises UserError for several."""
    if any((folder / name).is_file() for name in ("tokenizer.json", "vocab.json")):
        return None
    files = sorted(folder.glob("*.model"))
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise UserError(
            f"{folder}: has several vocabularies ({names})", "Leave the one that the model was trained with"
        )
    return files[0] if files else None


def _read(file: Path) -> Any:
    """The protocol buffer of a vocabulary. Raises UserError where a package to read it is not installed."""
    try:
        import_module("google.protobuf")
        from sentencepiece import sentencepiece_model_pb2
    except ImportError as error:
        lacking = "protobuf" if "google" in str(error) else "sentencepiece"
        raise UserError(
            f"{file}: is a SentencePiece vocabulary, and a package that reads it is not installed ({lacking})",
            "Install it: pip install 'bert-finetune[sentencepiece]'",
        ) from error
    message = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]
    message.ParseFromString(read_small(file, most=MOST_BYTES))
    return message


def _untrained(
    model: Any, pieces: Mapping[str, Any], tokens: Sequence[str], unknown: str, spelling: Spelling
) -> "Tokenizer":
    """A tokenizer with the model's pieces; ids are the order of `tokens`."""
    from tokenizers import AddedToken, Tokenizer, models

    ids, fallback = {token: number for number, token in enumerate(tokens)}, model.trainer_spec.byte_fallback
    cleaned = {piece for piece in pieces if spelling.cleaned and piece[-1:] == "," and piece[-2:-1].isdigit()}
    scores = {name: piece.score - FEWER * (name in cleaned) for name, piece in pieces.items()}
    if KINDS[model.trainer_spec.model_type] == "Unigram":
        scored = [(token, scores.get(token, 0.0)) for token in tokens]
        backend = Tokenizer(models.Unigram(scored, ids[unknown], byte_fallback=fallback))
    else:  # BPE: the pair whose union has the best score is merged first
        merges = [
            (piece[:cut], piece[cut:])
            for piece in sorted((name for name in pieces if name in ids), key=lambda name: -scores[name])
            for cut in range(1, len(piece))
            if piece[:cut] in ids and piece[cut:] in ids
        ]
        backend = Tokenizer(models.BPE(ids, merges, unk_token=unknown, fuse_unk=True, byte_fallback=fallback))
    apart = [piece for piece in model.pieces if piece.type in (CONTROL, DEFINED) and piece.piece in ids]
    backend.add_tokens([AddedToken(p.piece, normalized=False, special=p.type == CONTROL) for p in apart])
    backend.normalizer = _normalizer(model.normalizer_spec, spelling)
    return backend


def _normalizer(spec: Any, spelling: Spelling) -> "normalizers.Normalizer":
    """Normalization of characters.

    NFC comes before the table, in which the library looks up single characters: it would not join the letters of
    Hangul, into which some systems divide syllables.
    """
    from tokenizers import Regex, normalizers

    steps: list[normalizers.Normalizer] = []
    if spelling.cleaned:
        steps += [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    if not spelling.accents:
        steps += [normalizers.NFKD(), normalizers.StripAccents()]
    steps.append(normalizers.NFC())
    if spelling.lower:
        steps.append(normalizers.Lowercase())
    if spec.precompiled_charsmap:
        steps.append(normalizers.Precompiled(spec.precompiled_charsmap))
    if spec.remove_extra_whitespaces:
        steps += [normalizers.Replace(Regex(r"\s+" if spelling.cleaned else " {2,}"), " "), normalizers.Strip()]
    return normalizers.Sequence(steps)


def _frame(backend: "Tokenizer", model: Any, special: Mapping[str, str], *, punctuation: bool) -> None:
    """Sets the division into words, and BERT's special tokens around a text."""
    from tokenizers import decoders, pre_tokenizers, processors

    scheme = "always" if model.normalizer_spec.add_dummy_prefix else "never"
    words = pre_tokenizers.Metaspace(SPACE, prepend_scheme=scheme)
    apart = [pre_tokenizers.Punctuation("isolated")] if punctuation else []
    backend.pre_tokenizer = pre_tokenizers.Sequence([*apart, words])
    backend.decoder = decoders.Metaspace(SPACE, prepend_scheme=scheme)
    sep, cls = ((special[name], backend.token_to_id(special[name]) or 0) for name in ("sep_token", "cls_token"))
    backend.post_processor = processors.BertProcessing(sep, cls)

"""Tiny random encoders in the files in which well-known ones are published: names, settings, kinds of vocabularies."""

import io
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertModel,
    DebertaV2ForMaskedLM,
    ElectraForPreTraining,
    ModernBertForMaskedLM,
    PreTrainedModel,
    RobertaForMaskedLM,
    XLMRobertaModel,
    XLMRobertaTokenizer,
)

TEXTS = (
    "서울은 대한민국의 수도이다. 인구는 9,411,260명이고 한강이 흐른다.",
    "세종대왕은 1443년에 훈민정음을 만들었다.",
    "영화가 정말 재미있었다. 배우들의 연기가 좋았다.",
    "영화가 너무 지루했다. 돈이 아깝다!",
    "The capital of Korea is Seoul, and the river is the Han.",
    "가나다라마바사아자차카타파하 ABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz 0123456789 , . ! ? ( ) ' \"",
)
BERTS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
KOBERTS = ("[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]")  # KoBERT's ids
KLUES = ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")  # of KLUE-RoBERTa
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
OF_DEBERTA = {
    **{"relative_attention": True, "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True},
    **{"pos_att_type": "p2c|c2p", "layer_norm_eps": 1e-7, "max_relative_positions": -1},
    **{"position_biased_input": False, "max_position_embeddings": 512, "type_vocab_size": 0},
}
PIECES = {  # options of SentencePiece's trainer
    "deberta": {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}
    | {"pad_piece": "[PAD]", "bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"},
    "albert": {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": "[CLS],[SEP],[MASK]"},
    "kobert": {"unk_id": 0, "pad_id": 1, "bos_id": -1, "eos_id": -1, "unk_piece": "[UNK]", "pad_piece": "[PAD]"}
    | {"control_symbols": "[CLS],[SEP],[MASK]"},
    "xlm-roberta": {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1},
}


def train_pieces(file: Path, like: str, *, kind: str = "unigram") -> None:
    """Trains a SentencePiece vocabulary with the special tokens of a family, and writes it."""
    size = {"unigram": 200, "bpe": 240}[kind]
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 30), model_writer=made, vocab_size=size, model_type=kind,
        character_coverage=1.0, hard_vocab_limit=False, minloglevel=2, **PIECES[like],
    )  # fmt: skip
    file.write_bytes(made.getvalue())


def pieces_of(file: Path) -> list[str]:
    """The pieces of a SentencePiece vocabulary by their ids."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(file))
    return [processor.id_to_piece(place) for place in range(processor.get_piece_size())]


def settings(folder: Path, **values: Any) -> None:
    """Writes tokenizer_config.json."""
    (folder / "tokenizer_config.json").write_text(json.dumps(values))


def _deberta_v3(folder: Path) -> int:
    train_pieces(folder / "spm.model", "deberta")
    settings(folder, do_lower_case=False, vocab_type="spm")
    return len(pieces_of(folder / "spm.model")) + 100  # the published embeddings have 100 spare rows


def _kobert(folder: Path) -> int:
    file = folder / "tokenizer_78b3253a26.model"
    train_pieces(file, "kobert")
    ordinary = sorted(set(pieces_of(file)) - set(KOBERTS))  # by their letters, not by their scores
    (folder / "vocab.txt").write_text("\n".join((*KOBERTS, *ordinary, "")), encoding="utf-8")
    code = {"AutoTokenizer": ["tokenization_kobert.KoBertTokenizer", None]}
    settings(folder, do_lower_case=False, max_len=512, tokenizer_class="KoBertTokenizer", auto_map=code)
    (folder / "tokenization_kobert.py").write_text("raise SystemExit")
    return len(ordinary) + len(KOBERTS)


def _kobert_of_skt(folder: Path) -> int:
    train_pieces(folder / "spiece.model", "kobert")
    settings(folder, do_lower_case=False, tokenizer_class="KoBERTTokenizer", **_named(KOBERTS))
    return len(pieces_of(folder / "spiece.model"))


def _named(special: Iterable[str]) -> dict[str, str]:
    return {f"{one.strip('[]').lower()}_token": one for one in special}


def wordpiece_file(special: tuple[str, ...], tokenizer_class: str, *, whole: bool) -> Callable[[Path], int]:
    """vocab.txt, and with `whole` tokenizer.json too."""

    def write(folder: Path) -> int:
        letters = sorted({letter for text in TEXTS for letter in text if letter != " "})
        tokens = [*special, *letters, *(f"##{letter}" for letter in letters), "서울", "##이다", "영화", "##가"]
        (folder / "vocab.txt").write_text("\n".join(tokens), encoding="utf-8")
        lowered = {"do_lower_case": False, "tokenize_chinese_chars": True, "strip_accents": None}
        settings(folder, tokenizer_class=tokenizer_class, model_max_length=512, **lowered, **_named(special))
        if whole:
            made = Tokenizer(models.WordPiece({t: i for i, t in enumerate(tokens)}, unk_token="[UNK]"))
            made.normalizer = normalizers.BertNormalizer(lowercase=False)
            made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
            made.decoder = decoders.WordPiece()
            made.add_special_tokens(list(special))
            made.post_processor = processors.BertProcessing(*((t, tokens.index(t)) for t in ("[SEP]", "[CLS]")))
            made.save(str(folder / "tokenizer.json"))
        return len(tokens)

    return write


def _modern(folder: Path) -> int:
    """Byte-level BPE in tokenizer.json alone; the first word of a text has no space before it."""
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(
        TEXTS,
        trainers.BpeTrainer(
            vocab_size=500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=list(BERTS)
        ),
    )
    made.add_special_tokens([AddedToken("[MASK]", lstrip=True, special=True)])
    return _framed(folder, made, "[CLS]", "[SEP]", _named(BERTS))


def _gemma(folder: Path) -> int:
    """BPE of Gemma 2: spaces are letters, unknown letters are bytes."""
    special = {"pad": "<pad>", "eos": "<eos>", "bos": "<bos>", "unk": "<unk>", "mask": "<mask>"}
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")  # to train, so that no piece is of two words
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    made.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=700, special_tokens=[*special.values(), *bytes_]))
    made.normalizer = normalizers.Replace(" ", "▁")
    made.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    roles = {f"{role}_token": token for role, token in special.items()} | {"cls_token": "<bos>", "sep_token": "<eos>"}
    return _framed(folder, made, "<bos>", "<eos>", roles, tokenizer_class="GemmaTokenizer")


def _framed(folder: Path, made: Tokenizer, cls: str, sep: str, roles: dict[str, str], tokenizer_class: str = "") -> int:
    made.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B {sep}",
        special_tokens=[(token, made.token_to_id(token)) for token in (cls, sep)],
    )
    made.save(str(folder / "tokenizer.json"))
    names = ["input_ids", "attention_mask"]
    kind = tokenizer_class or "PreTrainedTokenizerFast"
    settings(folder, tokenizer_class=kind, model_max_length=8192, model_input_names=names, **roles)
    return made.get_vocab_size()


def _e5(folder: Path) -> int:
    """SentencePiece and tokenizer.json, and sentence-transformers' settings."""
    train_pieces(folder / "sentencepiece.bpe.model", "xlm-roberta")
    made = XLMRobertaTokenizer.from_pretrained(folder)
    made.backend_tokenizer.save(str(folder / "tokenizer.json"))
    settings(folder, tokenizer_class="XLMRobertaTokenizer", model_max_length=512)
    parts = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in parts]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    return len(made)


@dataclass(frozen=True)
class Published:
    """How an encoder is published: the class of its weights, their file and type, and its vocabulary.

    `vocabulary` writes the files into a folder and returns the number of tokens.
    """

    kind: type[PreTrainedModel]
    vocabulary: Callable[[Path], int]
    config: dict[str, Any] = field(default_factory=dict)
    safe: bool = True
    pickled: bool = True
    dtype: torch.dtype = torch.float32
    old_names: bool = False

    def write(self, folder: Path) -> None:
        """Writes the folder. A pickle next to safetensors cannot be read, and other libraries' weights neither."""
        folder.mkdir(parents=True, exist_ok=True)
        size = self.vocabulary(folder)
        config = self.kind.config_class(vocab_size=size, **{**SIZES, **self.config})
        torch.manual_seed(0)
        config.architectures, config.dtype = [self.kind.__name__], self.dtype
        (folder / "config.json").write_text(json.dumps(config.to_diff_dict() | self.config))
        state = self.kind(config).to(self.dtype).state_dict()
        if self.old_names:
            norms = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
            state = {re.sub("|".join(norms), lambda old: norms[old[0]], name): state[name] for name in state}
        if self.safe:
            save_file({n: t.clone() for n, t in state.items()}, folder / "model.safetensors", {"format": "pt"})
        if self.pickled:
            torch.save({} if self.safe else state, folder / "pytorch_model.bin")
        for other in ("tf_model.h5", "flax_model.msgpack", "rust_model.ot", "pytorch_model.generator.bin", "README.md"):
            (folder / other).write_text("not to be fetched")


OF_MODERN = {"max_position_embeddings": 8192, "global_attn_every_n_layers": 3, "local_attention": 128}
OF_MODERN |= {"tie_word_embeddings": True, "pad_token_id": 0}
OF_BERT = {"bos_token_id": 2, "cls_token_id": 2, "eos_token_id": 3, "sep_token_id": 3}
KOBERT = {"pad_token_id": 1}
OF_ROBERTA = {"type_vocab_size": 1, "max_position_embeddings": 514, "pad_token_id": 1}
OF_KLUE = OF_ROBERTA | {"bos_token_id": 0, "eos_token_id": 2, "tokenizer_class": "BertTokenizer"}
OF_GEMMA = {"bos_token_id": 2, "cls_token_id": 2, "eos_token_id": 1, "sep_token_id": 1}
ELECTRA = wordpiece_file(BERTS, "ElectraTokenizer", whole=False)
KLUE = wordpiece_file(KLUES, "BertTokenizer", whole=True)
PUBLISHED = {
    "microsoft/deberta-v3-base": Published(
        DebertaV2ForMaskedLM, _deberta_v3, OF_DEBERTA, safe=False, dtype=torch.float16
    ),
    "monologg/kobert": Published(BertModel, _kobert, KOBERT, safe=False),
    "skt/kobert-base-v1": Published(BertModel, _kobert_of_skt, KOBERT, safe=False, old_names=True),
    "monologg/koelectra-base-v3-discriminator": Published(ElectraForPreTraining, ELECTRA, safe=False),
    "klue/roberta-base": Published(RobertaForMaskedLM, KLUE, OF_KLUE),
    "skt/A.X-Encoder-base": Published(
        ModernBertForMaskedLM, _modern, OF_MODERN | OF_BERT, pickled=False, dtype=torch.bfloat16
    ),
    "jhu-clsp/mmBERT-base": Published(ModernBertForMaskedLM, _gemma, OF_MODERN | OF_GEMMA),
    "intfloat/multilingual-e5-base": Published(XLMRobertaModel, _e5, OF_ROBERTA),
}

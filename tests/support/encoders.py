"""A tiny random encoder of each family, and the vocabulary that they know."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import ByteLevelBPETokenizer, Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import (
    CONFIG_MAPPING,
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
    RobertaTokenizerFast,
)

from finetune.models.families import FAMILIES
from finetune.models.pretrained import MINILM_PACKAGE, resolve

torch.set_num_threads(1)

WORDS = [
    *("the", "a", "cat", "dog", "bird", "house", "tree", "sun", "moon", "sat", "ran", "flew", "saw", "was", "not"),
    *("red", "blue", "big", "small", "good", "bad", "on", "under", "and", "but", "yes", "no", "one", "two", "three"),
    *("he", "she", "it", "they", "man", "woman", "child", "river", "road", "day", "night", "old", "new"),
]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "initializer_range": 0.2,
}


def wordpiece(folder: Path, tokenizer_class: str) -> int:
    """Writes a vocabulary of whole words and letters; its size."""
    letters = [prefix + letter for letter in "abcdefghijklmnopqrstuvwxyz0123456789" for prefix in ("", "##")]
    vocabulary = list(dict.fromkeys([*SPECIAL, *WORDS, *letters, ".", ",", "?", "'"]))
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    config = {"tokenizer_class": tokenizer_class, "model_max_length": 128}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return len(vocabulary)


def sentencepiece(folder: Path, template: tuple[str, str], special: dict[str, str]) -> int:
    """Writes a tokenizer with a unigram vocabulary and these special tokens; the vocabulary's size."""
    trained = Tokenizer(models.Unigram())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    tokens = list(special.values())
    texts = [" ".join(WORDS), "abcdefghijklmnopqrstuvwxyz 0123456789 . , ? '"] * 3
    trained.train_from_iterator(
        texts, trainers.UnigramTrainer(vocab_size=200, special_tokens=tokens, unk_token=special["unk_token"])
    )
    ids = [(token, trained.token_to_id(token)) for token in (special["cls_token"], special["sep_token"])]
    trained.post_processor = processors.TemplateProcessing(single=template[0], pair=template[1], special_tokens=ids)
    names = ["input_ids", "attention_mask"]
    PreTrainedTokenizerFast(
        tokenizer_object=trained, model_max_length=128, model_input_names=names, **special
    ).save_pretrained(folder)
    return len(trained.get_vocab())


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT of two layers with a vocabulary of whole words and letters."""
    folder = tmp_path_factory.mktemp("tiny-bert")
    write_bert(folder)
    return folder


def write_bert(folder: Path) -> None:
    """The same in a folder."""
    size = wordpiece(folder, "BertTokenizer")
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=size, max_position_embeddings=128, **SIZES)).save_pretrained(folder)


@pytest.fixture(scope="session")
def tiny_masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT with its layer for masked words."""
    folder = tmp_path_factory.mktemp("tiny-masked")
    size = wordpiece(folder, "BertTokenizer")
    torch.manual_seed(0)
    config = BertConfig(**SIZES | {"vocab_size": size, "max_position_embeddings": 128, "initializer_range": 0.5})
    BertForMaskedLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random RoBERTa of two layers with a byte-level vocabulary."""
    folder = tmp_path_factory.mktemp("tiny-roberta")
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator([" ".join(WORDS)] * 3, vocab_size=400, special_tokens=special)
    trained.save_model(str(folder))
    tokenizer = RobertaTokenizerFast(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=128)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=130, type_vocab_size=1, pad_token_id=1, **SIZES
    )
    RobertaModel(config).save_pretrained(folder)
    return folder


BERT_TOKENS = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
BERT_TEMPLATE = ("[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1")


def byte_level(folder: Path) -> int:
    """Writes a byte-level vocabulary with BERT's special tokens, where a text's first word has no space before it."""
    trained = ByteLevelBPETokenizer()
    special = {**BERT_TOKENS, "mask_token": "[MASK]"}
    trained.train_from_iterator([" ".join(WORDS)] * 3, vocab_size=400, special_tokens=list(special.values()))
    inner = Tokenizer.from_str(trained.to_str())
    ids = [(token, inner.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    single, pair = BERT_TEMPLATE
    inner.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)
    names = ["input_ids", "attention_mask"]
    PreTrainedTokenizerFast(
        tokenizer_object=inner, model_max_length=128, model_input_names=names, **special
    ).save_pretrained(folder)
    return len(inner.get_vocab())


def bert_pieces(folder: Path) -> int:
    """Writes a SentencePiece vocabulary with BERT's special tokens."""
    return sentencepiece(folder, BERT_TEMPLATE, BERT_TOKENS | {"mask_token": "[MASK]"})


def roberta_pieces(folder: Path) -> int:
    """Writes a SentencePiece vocabulary with RoBERTa's special tokens, of which the padding token is the second."""
    special = {"cls_token": "<s>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "<unk>"}
    return sentencepiece(folder, ("<s> $A </s>", "<s> $A </s> </s> $B </s>"), special | {"mask_token": "<mask>"})


def albert_pieces(folder: Path) -> int:
    """Writes a SentencePiece vocabulary with ALBERT's special tokens."""
    special = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return sentencepiece(folder, BERT_TEMPLATE, special | {"mask_token": "[MASK]"})


def bert_words(folder: Path) -> int:
    """Writes BERT's vocabulary of whole words and letters."""
    return wordpiece(folder, "BertTokenizer")


def tiny(kind: str, vocabulary: Callable[[Path], int], **settings: Any) -> Any:
    """A fixture that writes a tiny random encoder of a type, with other settings of its config."""

    @pytest.fixture(scope="session")
    def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
        written = tmp_path_factory.mktemp(f"tiny-{kind}")
        size = vocabulary(written)
        tokens = AutoTokenizer.from_pretrained(written)
        pairs = {"pad": "pad", "cls": "cls", "sep": "sep", "bos": "cls", "eos": "sep"}
        ids = {f"{name}_token_id": getattr(tokens, f"{token}_token_id") for name, token in pairs.items()}
        given = {"vocab_size": size, "max_position_embeddings": 128, **SIZES, **ids, **settings}
        torch.manual_seed(0)
        AutoModel.from_config(CONFIG_MAPPING[kind](**given)).save_pretrained(written)
        return written

    return folder


tiny_albert = tiny("albert", albert_pieces, embedding_size=16)  # its two layers share their weights
tiny_distilbert = tiny("distilbert", lambda folder: wordpiece(folder, "DistilBertTokenizer"), hidden_dim=64)
tiny_electra = tiny("electra", lambda folder: wordpiece(folder, "ElectraTokenizer"), embedding_size=16)
tiny_xlm_roberta = tiny("xlm-roberta", roberta_pieces, max_position_embeddings=130, type_vocab_size=1)
tiny_modernbert = tiny("modernbert", byte_level, classifier_pooling="mean", local_attention=8)
OF_DEBERTA = {
    "relative_attention": True,
    "position_biased_input": False,
    "type_vocab_size": 0,
    "pooler_hidden_size": 32,
}
OF_DEBERTA_V2 = OF_DEBERTA | {"position_buckets": 16, "share_att_key": True, "norm_rel_ebd": "layer_norm"}
tiny_deberta_v2 = tiny("deberta-v2", bert_pieces, pos_att_type=["p2c", "c2p"], **OF_DEBERTA_V2)
tiny_mpnet = tiny("mpnet", roberta_pieces, max_position_embeddings=130)
tiny_camembert = tiny("camembert", roberta_pieces, max_position_embeddings=130, type_vocab_size=1)
tiny_data2vec_text = tiny("data2vec-text", roberta_pieces, max_position_embeddings=130, type_vocab_size=1)
tiny_ernie = tiny("ernie", bert_words)
tiny_big_bird = tiny("big_bird", bert_pieces, block_size=16)
tiny_rembert = tiny("rembert", bert_pieces, input_embedding_size=16, output_embedding_size=24)
tiny_deberta = tiny("deberta", byte_level, pos_att_type=["c2p", "p2c"], **OF_DEBERTA)
tiny_eurobert = tiny("eurobert", byte_level, num_key_value_heads=1, classifier_pooling="mean")
tiny_nomic_bert = tiny("nomic_bert", bert_words)
tiny_gte = tiny("gte", roberta_pieces)
tiny_roberta_prelayernorm = tiny("roberta-prelayernorm", roberta_pieces, max_position_embeddings=130, type_vocab_size=1)
tiny_roformer = tiny("roformer", bert_words, embedding_size=16)
tiny_longformer = tiny("longformer", roberta_pieces, max_position_embeddings=130, attention_window=8)
NAMES = [name.replace("-", "_") for name in FAMILIES]
DIFFERENT = ("bert", "roberta", "albert", "distilbert", "modernbert", "deberta_v2")
"""Families of which each is built in another way: tests with the others are slow."""
ALIKE = [name for name in NAMES if name not in DIFFERENT]
VOCABULARIES = (*DIFFERENT, "xlm_roberta")
"""Families of which each has another tokenizer: the others have one of these."""


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.slow] if name in ALIKE else []) for name in NAMES])
def tiny_encoder(request: pytest.FixtureRequest) -> Path:
    """One tiny encoder of each family: for saving, loading and pooling."""
    return request.getfixturevalue(f"tiny_{request.param}")


@pytest.fixture(params=VOCABULARIES)
def tiny_vocabulary(request: pytest.FixtureRequest) -> Path:
    """A tiny encoder with each tokenizer: for what reads the tokenizer alone."""
    return request.getfixturevalue(f"tiny_{request.param}")


@pytest.fixture(scope="module")
def minilm() -> Path:
    pytest.importorskip(MINILM_PACKAGE, reason="needs the extra `offline`")
    return resolve("minilm").folder

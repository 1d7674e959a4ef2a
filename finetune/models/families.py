"""Encoder families: the layers of transformers' heads and other differences, a row of `FAMILIES` each.

BERT's pooler, a dense layer with tanh, is pretrained (Devlin et al. 2019, section 3.2). Other families put a new layer
there, under other names, which a saved checkpoint must have. An encoder of another family is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from finetune.errors import UserError

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

HeadName = Literal["sentence", "choice", "token", "span"]
POOLED_DROPOUT = ("classifier_dropout", "classifier_dropout_prob", "seq_classif_dropout", "hidden_dropout_prob")
HIDDEN = ("hidden_dropout_prob",)


@dataclass(frozen=True, kw_only=True)
class Layers:
    """The layers of a head from a vector to the logits: dropout, dense, activation, LayerNorm, dropout, output.

    - `dense`, `norm` and `output`: their names in transformers' checkpoints. Without `dense` the head reads the output
      of the pretrained pooler, or a token's vector.
    - `before` and `dropout`: settings of the config with the probabilities of the two dropouts; the first that is set.
    - `vector`: `cls` or `mean`, or the setting of the config that says which. `activation` may name a setting too.
    - `attends_to_all`: the tokens with global attention, where others attend to their neighbours.
    """

    vector: str = "cls"
    attends_to_all: Literal["none", "cls", "first text", "second text"] = "none"
    before: Sequence[str] = ()
    dense: str | None = None
    activation: str = "tanh"
    norm: str | None = None
    dropout: Sequence[str] = POOLED_DROPOUT
    output: str = "classifier"


@dataclass(frozen=True, kw_only=True)
class WordPrediction:
    """From a token's vector to a logit for each token of the vocabulary: dense, activation, LayerNorm, word embeddings.

    - `dense`, `norm` and `output` (with the bias): their names in transformers' checkpoints. Without `dense` there is
      the output alone.
    - `activation`: a name, or a setting of the config; None, as for `epsilon`, is the encoder's own.
    - `own_matrix`: the output has its own matrix, unless the config ties it to the word embeddings.
    - `bias`: the setting of the config that says whether the output has a bias.
    """

    dense: str | None = None
    norm: str = ""
    output: str
    bias: str = "decoder_bias"
    activation: str | None = None
    epsilon: float | None = None
    own_matrix: bool = False


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family: its heads for texts, choices, tokens and spans, each None where transformers has no class.

    - `words`: the head that predicts tokens; `words_unless_legacy`: the same for a config with `legacy = false`.
    - `next_sentence`: the name in checkpoints of the layer for next-sentence prediction, or None.
    - `left_to_right`: whether transformers' class can attend to earlier tokens alone.
    - `fast_attention`: whether `kernels.attention` computes the same as the family's own attention.
    - `lora_targets`: the linear layers that LoRA adapts by default, to queries and values (Hu et al. 2022).
    """

    title: str
    sentence: Layers
    choice: Layers | None
    token: Layers
    span: Layers | None
    words: WordPrediction
    words_unless_legacy: WordPrediction | None = None
    next_sentence: str | None = None
    left_to_right: bool = False
    fast_attention: bool = True
    lora_targets: Sequence[str] = ("query", "value")


PLAIN = Layers()
HIDDEN_DROPOUT = Layers(dropout=HIDDEN)
TOKEN = Layers(dropout=("classifier_dropout", "classifier_dropout_prob", "hidden_dropout_prob", "dropout"))
SPAN = Layers(dropout=("qa_dropout",), output="qa_outputs")  # DistilBERT has one, the others none
OTHER = Layers(dense="dense")  # a new pooler, for vectors that no class of transformers reads
NEW_TANH = Layers(before=POOLED_DROPOUT, dense="classifier.dense", output="classifier.out_proj")
HIDDEN_TANH = replace(NEW_TANH, before=HIDDEN, dropout=HIDDEN)

BERT_WORDS = WordPrediction(
    dense="cls.predictions.transform.dense", norm="cls.predictions.transform.LayerNorm", output="cls.predictions"
)
ROBERTA_WORDS = WordPrediction(dense="lm_head.dense", norm="lm_head.layer_norm", output="lm_head", activation="gelu")

BERT = Family(
    title="BERT",
    sentence=PLAIN,
    choice=PLAIN,
    token=TOKEN,
    span=SPAN,
    words=BERT_WORDS,
    next_sentence="cls.seq_relationship",
    left_to_right=True,
)
ROBERTA = replace(
    BERT,
    title="RoBERTa",
    sentence=NEW_TANH,
    choice=HIDDEN_DROPOUT,
    words=ROBERTA_WORDS,
    next_sentence=None,
)
DISTILBERT = Layers(dense="pre_classifier", activation="relu")
CONTEXT_POOLER = Layers(
    before=("pooler_dropout",),
    dense="pooler.dense",
    activation="pooler_hidden_act",
    dropout=("cls_dropout", *HIDDEN),
)
DEBERTA_V2 = Family(
    title="DeBERTa-v2 and v3",
    sentence=CONTEXT_POOLER,
    choice=CONTEXT_POOLER,
    token=HIDDEN_DROPOUT,
    span=SPAN,
    words=BERT_WORDS,
    words_unless_legacy=WordPrediction(
        dense="lm_predictions.lm_head.dense",
        norm="lm_predictions.lm_head.LayerNorm",
        output="lm_predictions.lm_head",
    ),
    fast_attention=False,
    lora_targets=("query_proj", "value_proj"),
)
MODERNBERT = Layers(
    dense="head.dense", activation="classifier_activation", norm="head.norm", dropout=("classifier_dropout",)
)
MODERNBERT_POOLED = replace(MODERNBERT, vector="classifier_pooling")
FAMILIES = {
    "bert": BERT,
    "roberta": ROBERTA,
    "albert": replace(
        BERT,
        title="ALBERT",
        words=WordPrediction(dense="predictions.dense", norm="predictions.LayerNorm", output="predictions"),
        next_sentence="sop_classifier.classifier",
        left_to_right=False,
    ),
    "xlm-roberta": replace(ROBERTA, title="XLM-R"),
    "electra": replace(
        ROBERTA,
        title="ELECTRA",
        sentence=replace(NEW_TANH, activation="gelu"),
        choice=Layers(dense="sequence_summary.summary", activation="gelu", dropout=("summary_last_dropout",)),
        words=WordPrediction(
            dense="generator_predictions.dense",
            norm="generator_predictions.LayerNorm",
            output="generator_lm_head",
            activation="gelu",
        ),
    ),
    "distilbert": Family(
        title="DistilBERT",
        sentence=DISTILBERT,
        choice=DISTILBERT,
        token=TOKEN,
        span=SPAN,
        words=WordPrediction(dense="vocab_transform", norm="vocab_layer_norm", output="vocab_projector", epsilon=1e-12),
        lora_targets=("q_lin", "v_lin"),
    ),
    "modernbert": Family(
        title="ModernBERT",
        sentence=MODERNBERT_POOLED,
        choice=MODERNBERT_POOLED,
        token=MODERNBERT,
        span=MODERNBERT,
        words=WordPrediction(
            dense="head.dense", norm="head.norm", output="decoder", activation="classifier_activation"
        ),
        lora_targets=("Wqkv",),
    ),
    "deberta-v2": DEBERTA_V2,
    "deberta": replace(DEBERTA_V2, title="DeBERTa", choice=None, lora_targets=("in_proj",)),
    "mpnet": replace(
        ROBERTA,
        title="MPNet",
        sentence=HIDDEN_TANH,
        token=HIDDEN_DROPOUT,
        left_to_right=False,
        fast_attention=False,
        lora_targets=("q", "v"),
    ),
    "camembert": replace(ROBERTA, title="CamemBERT"),
    "data2vec-text": replace(ROBERTA, title="data2vec"),
    "ernie": replace(BERT, title="ERNIE"),
    "big_bird": replace(
        BERT,
        title="BigBird",
        sentence=replace(NEW_TANH, activation="hidden_act"),
        choice=HIDDEN_DROPOUT,
        span=None,  # transformers' class has a whole feed-forward block there, and masks the question
        left_to_right=False,
        fast_attention=False,
    ),
    "rembert": replace(
        BERT,
        title="RemBERT",
        words=WordPrediction(
            dense="cls.predictions.dense",
            norm="cls.predictions.LayerNorm",
            output="cls.predictions.decoder",
            own_matrix=True,
        ),
        next_sentence=None,
        left_to_right=False,
        fast_attention=False,
    ),
    "eurobert": Family(
        title="EuroBERT",
        sentence=Layers(vector="classifier_pooling", dense="dense", activation="gelu", dropout=()),
        choice=None,
        token=TOKEN,
        span=None,
        words=WordPrediction(output="lm_head", bias="mlp_bias", own_matrix=True),
        fast_attention=False,
        lora_targets=("q_proj", "v_proj"),
    ),
    "nomic_bert": Family(
        title="Nomic",
        sentence=Layers(dense="nomic_bert.pooler.dense"),
        choice=None,
        token=TOKEN,
        span=None,
        words=WordPrediction(
            dense="cls.predictions.transform.dense",
            norm="cls.predictions.transform.layer_norm",
            output="cls.predictions",
        ),
        lora_targets=("q_proj", "v_proj"),
    ),
    "gte": Family(
        title="GTE",
        sentence=Layers(dense="gte.pooler.dense"),
        choice=None,
        token=TOKEN,
        span=None,
        words=replace(ROBERTA_WORDS, output="lm_head.decoder"),
        lora_targets=("q_proj", "v_proj"),
    ),
    "roberta-prelayernorm": replace(ROBERTA, title="RoBERTa-PreLayerNorm", left_to_right=False, fast_attention=False),
    "roformer": replace(
        BERT,
        title="RoFormer",
        sentence=replace(HIDDEN_TANH, activation="hidden_act"),
        choice=None,  # transformers' class reads the last token there, which may be padding
        token=HIDDEN_DROPOUT,
        next_sentence=None,
        left_to_right=False,
        fast_attention=False,
    ),
    "longformer": replace(
        ROBERTA,
        title="Longformer",
        sentence=replace(HIDDEN_TANH, attends_to_all="cls"),
        choice=replace(HIDDEN_DROPOUT, attends_to_all="second text"),
        token=HIDDEN_DROPOUT,
        span=replace(SPAN, attends_to_all="first text"),
        left_to_right=False,
        fast_attention=False,
    ),
}


POSITIONS = ("position_embeddings", "embed_positions")  # names of tables of positions


def most_tokens(encoder: "PreTrainedModel") -> int:
    """The most tokens for which an encoder has positions, by its config and by its table of positions."""
    counts = [int(getattr(encoder.config, "max_position_embeddings", None) or 512)]
    for name, table in encoder.named_modules():
        if name.rpartition(".")[2] in POSITIONS and hasattr(table, "weight"):
            counts.append(len(table.weight) - positions_before(table))
    return min(counts)


def positions_before(table: Any) -> int:
    """The index of the first token's row in a table of positions: after the padding token's, if it has one."""
    return 0 if getattr(table, "padding_idx", None) is None else table.padding_idx + 1


def takes_segments(config: "PretrainedConfig") -> bool:
    """Whether an encoder has segment ids; some tokenizers return them though it has none."""
    return getattr(config, "type_vocab_size", 0) > 1


def is_left_to_right(config: "PretrainedConfig") -> bool:
    """Whether an encoder's tokens attend only to earlier ones."""
    return bool(getattr(config, "is_decoder", False))


def can_be_left_to_right(config: "PretrainedConfig") -> bool:
    """Whether an encoder of this family can attend to earlier tokens alone."""
    return FAMILIES[config.model_type].left_to_right


def require_encoder(config: "PretrainedConfig") -> None:
    """Raises UserError for a model that is not an encoder of one of the FAMILIES, bidirectional or left to right."""
    kind, reason = config.model_type, ""
    if kind not in FAMILIES or config.is_encoder_decoder:
        reason = "they are none of the families of encoders"
    elif is_left_to_right(config) and getattr(config, "add_cross_attention", False):
        reason = "as its config says, this one reads the output of another model"
    elif is_left_to_right(config) and not can_be_left_to_right(config):
        reason = "their config says is_decoder, and this type cannot attend to earlier tokens alone"
    if reason:
        raise UserError(
            f"models of type '{kind}' are not supported: {reason}",
            f"Choose an encoder of one of the types {', '.join(FAMILIES)}",
        )


def head_dropout(config: "PretrainedConfig", names: Sequence[str]) -> float:
    """The probability of dropout in a head: the first of these settings of the config that is set, else 0."""
    return float(next((p for p in (getattr(config, name, None) for name in names) if p is not None), 0.0))


def set_dropout(config: "PretrainedConfig", probability: float) -> None:
    """Sets every dropout of the encoder and of the head to one probability."""
    for name, value in config.to_dict().items():
        if "dropout" in name and not isinstance(value, bool):  # ESM's token_dropout is a switch
            setattr(config, name, probability)

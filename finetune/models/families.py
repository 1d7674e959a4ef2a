"""How each encoder family makes its pooled output: the one place where families differ.

BERT pools through a dense layer with tanh that was pretrained (Devlin et al. 2019, section 3.2). Other families put
a new one there, under different names, which a saved checkpoint must use. A family is a row of `FAMILIES`; one
without a row can still be trained, and is saved in finetune's own format.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from finetune.errors import UserError

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

# A config's names of the dropout before a head's output layer; of several, the first that a family sets.
POOLED_DROPOUT = ("classifier_dropout", "classifier_dropout_prob", "seq_classif_dropout", "hidden_dropout_prob")
TOKEN_DROPOUT = ("classifier_dropout", "classifier_dropout_prob", "hidden_dropout_prob", "dropout")
POSITIONS = ("position_embeddings", "embed_positions")  # names of tables of positions
SPAN_DROPOUT = ("qa_dropout",)  # DistilBERT's; the others have none


@dataclass(frozen=True, kw_only=True)
class Pooling:
    """From the first token's vector to the logits: dropout (`drop_first`), dense, activation, dropout, output.

    `dense` and `output` are the layers' names in transformers' checkpoints, `dropout` the config's names of its
    probability. Without `dense`, the backbone's own pretrained pooler takes the place of dense and activation.
    """

    dense: str | None = None
    activation: Literal["tanh", "gelu", "relu"] = "tanh"
    drop_first: bool = False
    dropout: Sequence[str] = POOLED_DROPOUT
    output: str = "classifier"


PRETRAINED = Pooling()
HIDDEN_DROPOUT = Pooling(dropout=("hidden_dropout_prob",))
NEW_TANH = Pooling(dense="classifier.dense", drop_first=True, output="classifier.out_proj")
DISTILBERT = Pooling(dense="pre_classifier", activation="relu")
OTHER = Pooling(dense="dense", activation="tanh")  # of a family without a row


@dataclass(frozen=True, kw_only=True)
class WordPrediction:
    """From a token's vector to a logit for each token of the vocabulary: dense, activation, LayerNorm, word embeddings.

    `dense`, `norm` and `output`, which has the bias, are the layers' names in transformers' checkpoints. Activation
    and epsilon are the encoder's own where they are None.
    """

    dense: str
    norm: str
    output: str
    activation: str | None = None
    epsilon: float | None = None


BERT_WORDS = WordPrediction(
    dense="cls.predictions.transform.dense", norm="cls.predictions.transform.LayerNorm", output="cls.predictions"
)
ALBERT_WORDS = WordPrediction(dense="predictions.dense", norm="predictions.LayerNorm", output="predictions")
ROBERTA_WORDS = WordPrediction(dense="lm_head.dense", norm="lm_head.layer_norm", output="lm_head", activation="gelu")
ELECTRA_WORDS = WordPrediction(
    dense="generator_predictions.dense",
    norm="generator_predictions.LayerNorm",
    output="generator_lm_head",
    activation="gelu",
)
DISTILBERT_WORDS = WordPrediction(
    dense="vocab_transform", norm="vocab_layer_norm", output="vocab_projector", epsilon=1e-12
)


@dataclass(frozen=True, kw_only=True)
class Family:
    """What differs by family: how a head on the pooled output is made, for texts and for choices.

    `lora_targets` are the names of the linear layers that LoRA adapts by default: the projections to queries and
    values (Hu et al. 2022).
    `words` is the head that predicts tokens; `next_sentence` the layer, by its name in transformers' checkpoints, that
    tells from the pooled output whether the second text follows the first, or None; `left_to_right` says whether
    transformers' class can attend to earlier tokens alone.
    """

    title: str
    sentence: Pooling
    choice: Pooling
    words: WordPrediction
    next_sentence: str | None = None
    left_to_right: bool = True
    lora_targets: Sequence[str] = ("query", "value")


BERT = Family(
    title="BERT", sentence=PRETRAINED, choice=PRETRAINED, words=BERT_WORDS, next_sentence="cls.seq_relationship"
)
ROBERTA = Family(title="RoBERTa", sentence=NEW_TANH, choice=HIDDEN_DROPOUT, words=ROBERTA_WORDS)
FAMILIES = {
    "bert": BERT,
    "roberta": ROBERTA,
    "albert": replace(
        BERT, title="ALBERT", words=ALBERT_WORDS, next_sentence="sop_classifier.classifier", left_to_right=False
    ),
    "xlm-roberta": replace(ROBERTA, title="XLM-R"),
    "electra": Family(
        title="ELECTRA",
        sentence=replace(NEW_TANH, activation="gelu"),
        choice=Pooling(dense="sequence_summary.summary", activation="gelu", dropout=("summary_last_dropout",)),
        words=ELECTRA_WORDS,
    ),
    "distilbert": Family(
        title="DistilBERT",
        sentence=DISTILBERT,
        choice=DISTILBERT,
        words=DISTILBERT_WORDS,
        left_to_right=False,
        lora_targets=("q_lin", "v_lin"),
    ),
}
SENTENCE = {name: family.sentence for name, family in FAMILIES.items()}
CHOICE = {name: family.choice for name, family in FAMILIES.items()}


def most_tokens(encoder: "PreTrainedModel") -> int:
    """The longest sequence that an encoder has positions for: by its config, and by its table of positions."""
    counts = [int(getattr(encoder.config, "max_position_embeddings", None) or 512)]
    for name, table in encoder.named_modules():
        if name.rpartition(".")[2] in POSITIONS and hasattr(table, "weight"):
            counts.append(len(table.weight) - positions_before(table))
    return min(counts)


def positions_before(table: Any) -> int:
    """The rows of a table of positions before that of the first token: up to the padding token's, where it has one."""
    return 0 if getattr(table, "padding_idx", None) is None else table.padding_idx + 1


def takes_segments(config: "PretrainedConfig") -> bool:
    """Whether an encoder has segment ids for the two texts of a pair; some tokenizers return them regardless."""
    return getattr(config, "type_vocab_size", 0) > 1


def pooling(table: dict[str, Pooling], config: "PretrainedConfig") -> Pooling:
    """The row of a model's family; for other families a new tanh layer over the first token."""
    return table.get(config.model_type, OTHER)


def has_own_class(config: "PretrainedConfig") -> bool:
    """Whether a head on this family can be saved under the names of one of transformers' classes."""
    return config.model_type in FAMILIES


def is_left_to_right(config: "PretrainedConfig") -> bool:
    """Whether an encoder's tokens attend only to earlier ones."""
    return bool(getattr(config, "is_decoder", False))


def can_be_left_to_right(config: "PretrainedConfig") -> bool:
    """Whether an encoder of this family can attend to earlier tokens alone."""
    family = FAMILIES.get(config.model_type)
    return family is not None and family.left_to_right


def require_encoder(config: "PretrainedConfig") -> None:
    """Raises UserError for a model that is neither a bidirectional encoder nor one that was pre-trained left to right.

    Of any other decoder, the pooled token would not attend to the whole text.
    """
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED

    reads_another = getattr(config, "add_cross_attention", False) or not can_be_left_to_right(config)
    decoder = config.is_encoder_decoder or (is_left_to_right(config) and reads_another)
    of_text = all(hasattr(config, name) for name in ("vocab_size", "hidden_size", "num_hidden_layers"))
    if config.model_type not in MASKED or decoder or not of_text:
        raise UserError(
            f"models of type '{config.model_type}' are not supported: not a bidirectional encoder of text",
            f"Choose an encoder, such as one of the types {', '.join(FAMILIES)}",
        )


def family_notes(config: "PretrainedConfig") -> list[str]:
    """Notes for the user on a family without a row here."""
    if is_left_to_right(config):
        return ["the encoder reads from left to right: the last token's vector represents a text, not that of [CLS]"]
    if has_own_class(config):
        return []
    return [
        f"encoders of type '{config.model_type}' have no known pooling: a new tanh layer pools the first "
        "token, and the model is saved in a format that only finetune loads"
    ]


def head_dropout(config: "PretrainedConfig", names: Sequence[str]) -> float:
    """The dropout probability before a head's output layer: the first of these config names that is set, else 0."""
    return float(next((p for p in (getattr(config, name, None) for name in names) if p is not None), 0.0))


def set_dropout(config: "PretrainedConfig", probability: float) -> None:
    """Sets every dropout of the encoder and of the head to one probability."""
    for name in config.to_dict():
        if "dropout" in name:
            setattr(config, name, probability)

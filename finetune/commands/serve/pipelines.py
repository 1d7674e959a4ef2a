"""Answers as pipelines of transformers give them, for `huggingface_hub.InferenceClient`, by what a prediction has.

Labels are `[[{"label", "score"}, ...]]`, entities `[{"entity_group", "score", "word", "start", "end"}, ...]`, masked
words `[{"score", "token", "token_str", "sequence"}, ...]`. For a list of inputs it is a list of these. Numbers, answers
to questions, choices, and predictions of several parts have no such form: they are at /predict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from finetune.commands.serve.refused import Refused
from finetune.commands.serve.served_model import ServedModel

TEXTS = ("text", "text_pair")  # the names of the inputs in pipelines
TAGS = "entities"  # the cell that predictions of tags have
OUTSIDE = "O"
WHOLE_WORDS = ("simple", "first", "average", "max")  # strategies that are one where words have one tag each


@dataclass(frozen=True, kw_only=True)
class PipelineRequest:
    """The inputs, one or a list of them, and the parameters."""

    inputs: Sequence[Any]
    one: bool
    parameters: Mapping[str, Any]

    def takes(self, *names: str) -> None:
        """Raises Refused for a parameter of another name."""
        if wrong := [name for name in self.parameters if name not in names]:
            allowed = f"Send only {', '.join(names)}" if names else "Send none"
            raise Refused(400, f"the parameter '{wrong[0]:.50}' is not known", allowed)

    def count(self, name: str, default: int | None) -> int | None:
        """A parameter that is a count of at least 1. Raises Refused for anything else."""
        value = self.parameters.get(name, default)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise Refused(400, f"`{name}` is {value!s:.50}", "Send a whole number of at least 1")
        return value


def pipeline_request(given: Mapping[str, Any], most: int) -> PipelineRequest:
    """The request in a body. Raises Refused for another shape."""
    shape = 'Send {"inputs": "a text", "parameters": {}}'
    if more := [name for name in given if name not in ("inputs", "parameters")]:
        raise Refused(400, f"the body has '{more[0]:.50}'", shape)
    inputs, parameters = given.get("inputs"), given.get("parameters") or {}
    one = isinstance(inputs, str | dict)
    listed = [inputs] if one else inputs
    if not isinstance(listed, list) or not all(isinstance(each, str | dict) for each in listed):
        raise Refused(400, "`inputs` is neither a text nor a list of texts", shape)
    if not isinstance(parameters, dict):
        raise Refused(400, "`parameters` is not an object", shape)
    if len(listed) > most:
        raise Refused(413, f"the request has {len(listed):,} inputs", f"Send at most {most:,} a request")
    known = {name: value for name, value in parameters.items() if value is not None}
    return PipelineRequest(inputs=listed, one=one, parameters=known)


def rows_of_inputs(inputs: Sequence[Any], columns: Sequence[str]) -> list[Any]:
    """The rows of inputs: texts as they are; of `{"text", "text_pair"}` a tuple, of other objects the columns."""
    return [
        [given[name] for name in TEXTS if name in given] if _is_of_texts(given, columns) else given for given in inputs
    ]


def _is_of_texts(given: Any, columns: Sequence[str]) -> bool:
    """Whether an input has the names of pipelines, and not those of the model's columns alone."""
    has_columns = isinstance(given, dict) and set(columns) <= set(given)
    second = TEXTS[1] not in columns and TEXTS[1] in given
    return isinstance(given, dict) and TEXTS[0] in given and (second or not has_columns)


def as_pipelines_do(model: ServedModel, asked: PipelineRequest, predictions: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The predictions' cells in the form of a pipeline.

    Raises Refused for an input without a prediction, and for a model whose predictions have no such form.
    """
    for number, cells in enumerate(predictions, start=1):
        if "error" in cells:
            where = "the input" if asked.one else f"input {number}"
            raise Refused(400, f"{where} {cells['error']}", "Send texts, or rows to /predict, where each has its error")
    if all(TAGS in cells and not isinstance(cells["prediction"], Mapping) for cells in predictions):
        tagged = [_entities(asked, *pair) for pair in zip(asked.inputs, predictions, strict=True)]
        return tagged[0] if asked.one else tagged
    labels = model.labels
    if not labels or not all(f"p({label})" in cells for cells in predictions for label in labels):
        name = f"POST /predict, as GET /about describes for {model.name}"
        raise Refused(400, f"{model.kind.name} has no form of its own among transformers' pipelines", f"Use {name}")
    return [_labels(asked, labels, cells) for cells in predictions]


def _labels(asked: PipelineRequest, labels: Sequence[str], cells: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every label with its probability, the most probable first."""
    asked.takes("top_k")
    found = [{"label": label, "score": cells[f"p({label})"]} for label in labels]
    return sorted(found, key=lambda one: -one["score"])[: asked.count("top_k", None)]


def _entities(asked: PipelineRequest, given: Any, cells: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entities of a text; by `aggregation_strategy` "none" the tag of each word."""
    asked.takes("aggregation_strategy", "ignore_labels")
    strategy, ignored = asked.parameters.get("aggregation_strategy", "simple"), asked.parameters.get("ignore_labels")
    if strategy not in (*WHOLE_WORDS, "none"):
        raise Refused(400, f"aggregation_strategy is {strategy!s:.50}", f"Send none, {', '.join(WHOLE_WORDS)}")
    left_out = ignored if isinstance(ignored, list) else [OUTSIDE]
    if strategy != "none":
        return [
            {"entity_group": one["type"], "score": one.get("probability"), "word": one["text"], **_place(one)}
            for one in cells[TAGS]
            if one["type"] not in left_out
        ]
    if "characters" not in cells:
        raise Refused(400, "the model answers with spans of characters", "Leave aggregation_strategy out")
    each = zip(cells["prediction"], cells["probabilities"], cells["characters"], strict=True)
    text = given if isinstance(given, str) else str(given.get("text", ""))
    return [
        {"entity": tag, "score": score, "word": text[start:end], "start": start, "end": end}
        for tag, score, (start, end) in each
        if tag not in left_out
    ]


def _place(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"start": one["start"], "end": one["end"]}

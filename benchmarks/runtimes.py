"""Where a saved model loads: each task type with six families, in three runtimes, on 300 rows.

python benchmarks/runtimes.py --out results/benchmarks/runtimes.json

Small encoders with random weights are fine-tuned for an epoch, in fp32, with heads for texts on the mean of the tokens,
the default of few rows, and on their family's vector. A runtime reads the folder that the run wrote, or the graph of
`finetune export`, from the same tokens; sentence-transformers reads the texts. Its logits are compared with ours.
"""

import json
import random
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
import transformers
from machine import Parts, options
from measuring import encoder_config
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoModel, PreTrainedTokenizerFast

import finetune
from finetune.analysis.card import architecture
from finetune.errors import UserError
from finetune.inference.export_facts import GRAPHS
from finetune.inference.predictor import load_predictor
from finetune.models.batch import collate
from finetune.models.feature import Feature
from finetune.models.saving import CODE
from finetune.runs.folder import RunFolder, read_predictions
from finetune.task_types.predictions import row_of_line

ROWS = 300
FAMILIES = ("bert", "roberta", "distilbert", "modernbert", "deberta-v2", "xlm-roberta")
WORDS = ("red", "blue", "cat", "dog", "bird", "sat", "ran", "saw", "the", "a", "on", "mat")
SETTINGS: dict[str, Any] = {"train.precision": "fp32", "train.epochs": 1, "train.learning_rate": 2e-3, "max_length": 48}
RUNTIMES = ("transformers", "sentence-transformers", "onnxruntime")
BY_TEXT = ("one label", "label of a pair", "number", "several labels")


def rows_of(kind: str, count: int, draw: random.Random) -> list[dict[str, Any]]:
    """Rows of a task type, in columns that are found."""
    rows: list[dict[str, Any]] = []
    for _ in range(count):
        words = draw.choices(WORDS, k=draw.randint(3, 9))
        other = " ".join(draw.choices(WORDS, k=4))
        text, place = " ".join(words), draw.randrange(len(words))
        start = len(" ".join([*words[:place], ""]))
        span = {"start": start, "end": start + len(words[place]), "label": "THING"}
        made: dict[str, dict[str, Any]] = {
            "one label": {"text": text, "label": ("no", "yes")["cat" in words]},
            "label of a pair": {"text1": text, "text2": other, "label": ("differ", "same")["cat" in words]},
            "number": {"text": text, "score": round(draw.random() + len(words), 2)},
            "several labels": {"text": text, "labels": sorted({word for word in words if word in WORDS[:3]})},
            "tags": {"words": words, "tags": ["B-PET" if word in WORDS[2:5] else "O" for word in words]},
            "overlapping spans": {"text": text, "spans": [span, span | {"start": 0, "label": "PART"}]},
            "intent and slots": {"text": text, "slots": " ".join("O" for _ in words[1:]) + " B-PET",
                                 "intent": ("ask", "tell")["cat" in words]},
            "answer": {"question": "who sat?", "context": text, "answer": words[place]},
            "choice": {"context": text, "choice1": other, "choice2": words[place], "label": 1 + place % 2},
            "relevance": {"query": f"q {draw.randrange(count // 5)}", "passage": text, "relevance": place % 2},
        }  # fmt: skip
        rows.append(made[kind])
    return rows


KINDS = (*BY_TEXT, "tags", "overlapping spans", "intent and slots", "answer", "choice", "relevance")


def encoder(family: str, folder: Path) -> Path:
    """A small encoder of a family with random weights, and a tokenizer of words."""
    listed = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "?", "who", "q", *WORDS)
    words = Tokenizer(models.WordLevel({word: index for index, word in enumerate(listed)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    reads = ["input_ids", *["token_type_ids"] * (family == "bert"), "attention_mask"]
    PreTrainedTokenizerFast(tokenizer_object=words, model_input_names=reads, **special).save_pretrained(folder)
    shape = {"width": 32, "inner": 64, "layers": 2, "heads": 2}
    sizes = {"max_position_embeddings": 80, "vocab_size": len(listed), "pad_token_id": 0}
    sizes |= {"type_vocab_size": 1} if "roberta" in family else {}  # as published ones; the default is 2
    config = encoder_config(family, shape, **sizes)
    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)
    return folder


def measured(kind: str, settings: Mapping[str, Any], model: Path, folder: Path) -> dict[str, Any]:
    """Trains a run of a type, and compares its model in each runtime."""
    draw, data = random.Random(0), folder / "rows"
    data.mkdir(parents=True)
    for split, count in (("train", 60), ("dev", ROWS)):
        lines = map(json.dumps, rows_of(kind, count, draw))
        (data / f"{split}.jsonl").write_text("\n".join(lines) + "\n")
    run = finetune.run(str(data), model=str(model), out=str(folder / "results"), **SETTINGS, **settings)
    home = RunFolder(run.folder)
    predictor = load_predictor(str(run.folder), device="cpu")
    rows = [row_of_line(predictor.task, line, home.path) for line in read_predictions(home.predictions("dev"))]
    features = predictor.encoded(rows)
    ours = predictor.engine.logits(features)
    found: dict[str, Any] = {"class": architecture(home.model), "code": (home.model / CODE.name).is_file()}
    found["transformers"] = compared(ours, in_transformers(home.model, features)) if found["class"] else None
    listed = (home.model / "modules.json").is_file() and kind in BY_TEXT
    found["sentence-transformers"] = compared(ours, by_sentence_transformers(home.model, rows)) if listed else None
    try:
        exported = finetune.export(run, path=folder / "exported", out=str(folder / "results")).folder
        found["onnxruntime"] = compared(ours, in_onnxruntime(exported, features))
    except UserError as error:
        found["onnxruntime"], found["no export"] = None, error.what
    return found


def compared(ours: Iterable[np.ndarray], theirs: Iterable[np.ndarray]) -> dict[str, Any]:
    """Of so many rows the equal ones, whose largest logits are in the same places (a number's: within 1e-4)."""
    pairs = [(np.asarray(a), np.asarray(b).reshape(np.shape(a))) for a, b in zip(ours, theirs, strict=True)]
    finite = [np.isfinite(a) for a, _ in pairs]
    equal = [
        np.abs(a - b).max() < 1e-4 if a.shape[-1] == 1 else bool((a.argmax(-1) == b.argmax(-1)).all()) for a, b in pairs
    ]
    apart = max(float(np.abs(a - b)[there].max()) for (a, b), there in zip(pairs, finite, strict=True))
    return {"rows": len(pairs), "equal": int(sum(equal)), "largest difference": apart}


def in_transformers(folder: Path, features: Sequence[Feature]) -> Iterator[np.ndarray]:
    """The logits of the class that loads a model."""
    kind = getattr(transformers, f"AutoModel{architecture(folder)}")
    model = kind.from_pretrained(folder, dtype=torch.float32, trust_remote_code=True).eval()
    known = signature(model.forward).parameters
    for feature in features:
        batch: Any = collate([feature], pad_id=0)
        tensors = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
        tensors |= {"token_type_ids": batch.token_type_ids} if batch.token_type_ids is not None else {}
        inputs = {n: t[None] if batch.choices is not None else t for n, t in tensors.items() if n in known}
        with torch.no_grad():
            output = model(**inputs)
        spans = "start_logits" in output
        logits = torch.stack([output.start_logits, output.end_logits], -1) if spans else output.logits
        logits = logits[0] if batch.positions is None else logits[0, batch.positions[0]]
        yield logits.numpy()


def by_sentence_transformers(folder: Path, rows: Sequence[Any]) -> Sequence[np.ndarray]:
    """The vectors of the texts."""
    texts = [row.texts if len(row.texts) > 1 else row.texts[0] for row in rows]
    vectors: np.ndarray = SentenceTransformer(str(folder), device="cpu").encode(texts)
    return list(vectors)


def in_onnxruntime(folder: Path, features: Sequence[Feature]) -> Iterator[np.ndarray]:
    """The outputs of the graph for one feature at a time."""
    session = onnxruntime.InferenceSession(folder / GRAPHS["fp32"], providers=["CPUExecutionProvider"])
    known = {given.name for given in session.get_inputs()}
    for feature in features:
        batch: Any = collate([feature], pad_id=0)
        tensors = (batch.input_ids, batch.attention_mask, batch.token_type_ids)
        named = dict(zip(("input_ids", "attention_mask", "token_type_ids"), tensors, strict=True))
        outputs = session.run(None, {n: t.numpy() for n, t in named.items() if n in known and t is not None})
        logits = np.stack(outputs, -1) if len(outputs) > 1 else outputs[0]
        if batch.choices is not None:
            yield logits[:, 0]
        else:
            yield logits[0] if batch.positions is None else logits[0, batch.positions[0].numpy()]


def main() -> None:
    """Measures, and writes after each model."""
    given = options(__doc__, families=FAMILIES, kinds=KINDS)
    parts = Parts(given.out, "where saved models load", key="models", settings={"rows": ROWS, "families": FAMILIES})
    for family in given.families:
        with tempfile.TemporaryDirectory() as place:
            model = encoder(family, Path(place, "encoder"))
            for kind in given.kinds:
                pooled = kind in (*BY_TEXT, "choice", "relevance")
                for pooling in ("mean", "family") if pooled else ("family",):
                    name, settings = f"{kind}, {family}, {pooling}", {"pooling": pooling} if pooled else {}
                    parts.measure(name, measured, kind, settings, model, Path(place, name))


if __name__ == "__main__":
    main()

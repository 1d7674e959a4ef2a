"""Intents and slots: from the file to both answers, their scores, and the loss of a plain computation."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.cli import InProcess
from support.own_data import own_task
from support.toys import intent_task
from support.training import CPU, PLAIN, build
from torch.nn import functional
from transformers import AutoTokenizer

from finetune.commands.check.findings import findings_of
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.models.building import build_model
from finetune.models.feature import IGNORED, label_counts
from finetune.runs.recipe import Recipe
from finetune.task_types.parts import Answer
from finetune.task_types.plugins.intents import IntentRow, IntentTask
from finetune.training.keep_labels import carry_head

Fields = dict[str, Any]
BOTH = "intent-and-slots"


def asked(number: int) -> Fields:
    """A text, its tags and its intent."""
    kind, verb = (("music", "play"), ("book", "read"))[number % 2]
    return {"text": f"{verb} the red cat number {number}", "slots": "O O B-thing I-thing O O", "intent": kind}


def spans(number: int) -> Fields:
    """The same with character spans."""
    row = asked(number)
    return {**row, "slots": [{"start": 9, "end": 16, "entity": "thing"}]}


def written(
    path: Path, make: Callable[[int], Fields] = asked, *, count: int = 40, changed: dict[int, Fields] | None = None
) -> str:
    """A file of such rows, some with other cells."""
    rows = [{**make(number), **(changed or {}).get(number, {})} for number in range(count)]
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return str(path)


def renamed(**names: str) -> Callable[[int], Fields]:
    """Rows with other names of columns."""
    return lambda number: {names.get(name, name): cell for name, cell in asked(number).items()}


def listed(number: int) -> Fields:
    return {
        "tokens": asked(number)["text"].split(),
        "tags": asked(number)["slots"].split(),
        "intents": f"i{number % 3}",
    }


def task_of(rows: Sequence[IntentRow] = ()) -> IntentTask:
    return IntentTask(name="x", read=lambda *_: None, types=("a", "b"), intents=("go", "stop"))  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("make", "settings", "label"),
    [
        (asked, {}, ("slots", "intent")),
        (listed, {}, ("tags", "intents")),
        (spans, {}, ("slots", "intent")),
        (renamed(intent="의도", text="문장", slots="태그"), {}, ("태그", "의도")),
        (renamed(intent="domain"), {"label": "domain,slots"}, ("slots", "domain")),
        (renamed(intent="domain"), {"label": "slots,domain"}, ("slots", "domain")),
        (renamed(intent="domain"), {"label": "slots,domain", "shape": BOTH}, ("slots", "domain")),
        (spans, {"label": "slots,intent"}, ("slots", "intent")),
        (lambda n: {**asked(n), "intent": {"name": asked(n)["intent"]}}, {}, ("slots", "intent.name")),
    ],
)
def test_words_with_tags_or_spans_and_an_intent_are_this_form(
    tmp_path: Path, make: Any, settings: Fields, label: tuple[str, ...]
) -> None:
    task = own_task(written(tmp_path / "a.jsonl", make), settings)
    layout = task.read.layout  # type: ignore[attr-defined]
    assert (layout.shape, layout.label) == (BOTH, label)
    assert isinstance(task, IntentTask) and len(task.intents) == (3 if make is listed else 2)
    rows = task.load(Source(), "train").rows
    assert {row.gold[1][2:4] for row in rows} == {("B-thing", "I-thing")}
    assert {row.gold[0] for row in rows} == {*task.intents}


@pytest.mark.parametrize(
    ("make", "settings", "named"),
    [
        (asked, {"shape": BOTH, "label": "intent"}, "cannot infer"),
        (renamed(intent="domain"), {"shape": BOTH}, "cannot infer"),
        (
            lambda n: {**asked(n), "domain": "ab"[n % 2]},
            {"shape": BOTH, "label": "intent,domain"},
            "cannot infer",
        ),
        (lambda n: {**asked(n), "intent": ["a", "b"]}, {"shape": BOTH, "label": "slots,intent"}, "cannot infer"),
    ],
)
def test_columns_that_do_not_fit_are_refused(tmp_path: Path, make: Any, settings: Fields, named: str) -> None:
    with pytest.raises(UserError) as error:
        own_task(written(tmp_path / "a.jsonl", make), settings)
    assert named in error.value.what and "label=" in error.value.way_out


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ({"intent": ""}, "has a label in the column 'slots' and none in 'intent'"),
        ({"intent": None, "slots": ""}, "without a label"),
        ({"slots": ""}, "has a label in the column 'intent' and none in 'slots'"),
        ({"slots": "O O"}, "has 6 words and 2 tags"),
        ({"text": ""}, "has no words"),
        ({"intent": ["a"]}, "several values in the column 'intent'"),
        ({"text": {"a": 1}, "slots": "O O"}, "in the column 'text'; expected words"),
        ({"text": [["a"]], "slots": "O"}, "in the column 'text'; expected words"),
    ],
)
def test_a_row_without_one_of_both_is_named_and_left_out(tmp_path: Path, cells: Fields, note: str) -> None:
    path = written(tmp_path / "a.jsonl", changed={7: cells})
    notes = own_task(path).load(Source(), "train").notes
    assert any(note in one and "row 8" in one and "a.jsonl" in one for one in notes), notes
    assert findings_of(path, {}).findings


def test_a_kept_head_carries_the_rows_of_both_layers_by_their_labels(tiny_bert: Path) -> None:
    recipe = Recipe(task="any")
    new_task = replace(task_of(), types=("b", "c"), intents=("new", "stop"))
    trained, new = (build_model(tiny_bert, task.head, recipe, device=CPU)[0] for task in (task_of(), new_task))
    before = new.head.heads[1].output.weight[0].clone()
    with torch.no_grad():
        carry_head(trained, new)
    (theirs, of_intents), (ours, intents) = (
        [head.output.weight for head in each.head.heads] for each in (trained, new)
    )
    places = [(task.tagger.labels.index(name) for task in (new_task, task_of())) for name in ("O", "B-b", "I-b")]
    assert all(torch.equal(ours[place], theirs[other]) for place, other in places)
    assert torch.equal(intents[1], of_intents[1]) and torch.equal(intents[0], before)


def test_an_encoder_without_a_pooler_gets_a_layer_and_a_layer_mix_is_refused(tiny_roberta: Path) -> None:
    model, _ = build_model(tiny_roberta, task_of().head, Recipe(task="any"), device=CPU)
    assert not model.head.uses_pooler and isinstance(model.head.heads[1].dense, torch.nn.Linear)
    with pytest.raises(UserError) as error:
        build_model(tiny_roberta, task_of().head, Recipe(task="any", layers=[1]), device=CPU)
    assert "layers" in error.value.way_out


def test_the_loss_is_that_of_a_plain_computation(tiny_bert: Path) -> None:
    trainer, features = build(intent_task(), tiny_bert, PLAIN)
    model, batch = trainer.engine.model.eval(), collate(features[:16], pad_id=0)
    encoded = model.backbone.encoder(batch.input_ids, batch.attention_mask, batch.token_type_ids)
    of_tags, of_intents = (head.output for head in model.head.heads)
    intents = functional.linear(encoded.pooler_output, of_intents.weight, of_intents.bias)
    words = torch.gather(
        encoded.last_hidden_state,
        1,
        batch.positions.clamp(min=0).unsqueeze(-1).expand(-1, -1, model.backbone.width),  # type: ignore[union-attr]
    )
    tags = functional.linear(words, of_tags.weight, of_tags.bias)
    own = functional.cross_entropy(intents, batch.labels["intent"]) + functional.cross_entropy(
        tags.flatten(0, 1), batch.labels["slots"].flatten(), ignore_index=IGNORED
    )
    counts = label_counts(features[:16])
    losses = model.head.losses(model(*batch.inputs()), batch.labels)
    assert float(sum(loss / counts[name] for name, loss in losses.items())) == pytest.approx(float(own), rel=1e-5)
    assert counts == {"intent": 16, "slots": sum(len(one.reads) for one in features[:16])}  # type: ignore[arg-type]


def test_windows_are_averaged_for_the_intent_and_each_word_has_a_tag(tiny_bert: Path) -> None:
    task, tokenizer = task_of(), AutoTokenizer.from_pretrained(tiny_bert)
    row = IntentRow(id="1", words=("cat", "dog") * 20, gold=("stop", ("O", "B-a") * 20))
    features = task.encode([row], tokenizer, 16)
    assert len(features) > 2 and {one.label["intent"] for one in features} == {1}
    assert sum(len(one.label["slots"]) for one in features) == 40
    logits = [np.zeros((len(one.reads), 7), np.float32) for one in features]  # type: ignore[arg-type]
    for number, each in enumerate(logits):
        each[:, 5:] = [0, 4] if number == 0 else [1, 0]
    (answer,) = task.decode(logits, features, [row])
    mean = (4 - (len(features) - 1)) / len(features)
    assert answer.value["intent"] == ("stop" if mean > 0 else "go") and len(answer.value["slots"]) == 40
    assert answer.probabilities is not None and len(answer.probabilities) == 41
    assert max(answer.probabilities[0], 1 - answer.probabilities[0]) == pytest.approx(1 / (1 + np.exp(-abs(mean))))


def test_scores_are_of_whole_rows_of_intents_and_of_slots() -> None:
    task = task_of()
    gold = [("go", ("B-a", "O")), ("stop", ("B-b", "O")), ("go", ("O", "O"))]
    rows = [IntentRow(id=str(n), words=("x", "y"), gold=one) for n, one in enumerate(gold)]
    given = [("go", ("B-a", "O")), ("go", ("B-b", "O")), ("go", ("O", "B-a"))]
    scores = task.score([Answer(value={"intent": intent, "slots": list(tags)}) for intent, tags in given], rows)
    assert (scores["exact match"], scores["intent accuracy"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert (scores["slot precision"], scores["slot recall"], scores["slot f1"]) == (pytest.approx(2 / 3), 1.0, 0.8)
    assert list(scores) == list(task.metric_names)
    assert scores["intent: go/recall"] == 1.0 and scores["intent: go/precision"] == pytest.approx(2 / 3)
    assert scores["intent: stop/f1"] == 0.0 and scores["b/f1"] == 1.0
    assert task.score(task.labels_of(rows), rows)["exact match"] == 1.0


def test_predictions_are_scored_and_an_unknown_intent_is_named(
    copied_run: Callable[[str], Path], tmp_path: Path, in_process: InProcess
) -> None:
    run = copied_run("intent")
    rows = [{"text": "play the cat now", "slots": "O O B-PET O", "intent": kind} for kind in ("music", "nap")]
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for output in ("out.jsonl", "out.csv"):
        code, out, err = in_process("predict", str(run), "new.jsonl", "-o", output, data="")
        assert code == 0 and "'intent: nap'" in out + err and "row 2" in out + err
    given = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {"prediction", "predicted intent", "intent probability", "entities"} <= {*given[0]}
    assert given[0]["intent"] == "music" and {*given[0]["prediction"]} == {"intent", "slots"}
    code, out, err = in_process("evaluate", str(run), "new.jsonl", data="")
    assert code == 0 and "exact match" in out and "'intent: nap'" in out + err

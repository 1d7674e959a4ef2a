"""What a run chose on dev is said wherever its scores are: on the screen, in the record, the report and tables."""

from typing import Any

from support.paths import ROOT

from finetune.commands.table.declaration import load_table
from finetune.commands.table.forms import runs_form
from finetune.commands.table.lines import lines_of
from finetune.runs.record import DataFinding, RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.verdict import chosen_by_scored, dev_choices

RESULTS = ROOT / "results"


MRPC = RESULTS / "mrpc" / "544c74ed7e" / "record.json"


SQUAD = RESULTS / "squad-v2" / "003095623b" / "record.json"


def changed(record: RunRecord, *, train: dict[str, Any] | None = None, **values: Any) -> RunRecord:
    recipe = record.recipe | {"train": record.recipe["train"] | (train or {})} | values.pop("recipe", {})
    return record.model_copy(update={"recipe": recipe, **values})


def epochs(count: int) -> list[dict[str, Any]]:
    return [{"epoch": number, "loss": 0.1, "headline": 0.5, "scores": {}} for number in range(1, count + 1)]


def test_a_run_that_chose_nothing_says_nothing() -> None:
    record = load_record(MRPC)
    assert dev_choices(record) == []
    assert not chosen_by_scored(record)
    assert dev_choices(changed(record, train={"select": "best", "epochs": 1}, epochs=epochs(1))) == []
    squad = load_record(SQUAD)
    given = changed(squad, recipe={"options": {"threshold": 0.0, "threshold_em": 0.0}}, chosen=[])
    assert dev_choices(given) == []


def test_what_dev_chose_is_named_with_the_way_out() -> None:
    record = load_record(MRPC)
    best = changed(record, train={"select": "best", "epochs": 5}, epochs=epochs(4), selected_epoch=2)
    said = "dev chose epoch 2 of 4, so that its scores are optimistic"
    assert dev_choices(best) == [said]
    assert dev_choices(changed(record, train={"patience": 1, "epochs": 5}, epochs=epochs(3))) == [
        "dev chose the number of epochs, so that its scores are optimistic"
    ]
    in_updates = {"updates": 2, "patience": 1, "epochs": 3}
    assert dev_choices(changed(record, train=in_updates, epochs=epochs(2))) == []
    assert "dev chose the number of parts" in dev_choices(changed(record, train=in_updates, epochs=epochs(1)))[0]
    own = changed(best, recipe={"options": {"text": "text", "label": "label"}})
    assert dev_choices(own) == [f"{said}; test=FILE scores rows that chose nothing"]
    text = own.model_copy(update={"headline": "perplexity"})
    assert dev_choices(text) == [f"{said}; finetune evaluate {own.id} FILE scores documents that chose nothing"]
    tested = own.model_copy(update={"scores": own.scores | {"test": own.scores["dev"]}})
    assert dev_choices(tested) == [f"{said}; those of test are not"]
    facts = {"severity": "error", "code": "leak", "split": "test", "what": "all", "remedy": "", "count": 5}
    assert dev_choices(tested.model_copy(update={"findings": [DataFinding(**facts)]})) == [said]
    assert dev_choices(changed(record, train={"solver": "logistic", "epochs": 3}, epochs=epochs(1))) == []


def test_a_threshold_of_squad_is_named_in_the_record_and_in_tables() -> None:
    record = load_record(SQUAD)
    (said,) = dev_choices(record)
    assert said == "dev chose threshold and threshold_em, so that its scores are optimistic"
    assert record.notes[-1] == said
    table = load_table("squad")
    text = str(runs_form(table, lines_of(table, [record])).notes)
    assert "so these dev scores are optimistic: SQuAD 2.0 f1, minilm; SQuAD 2.0 em, minilm." in text
    fitted = record.model_copy(update={"cross_fitted": True})
    assert not chosen_by_scored(fitted)
    assert "chosen on other rows of dev: SQuAD 2.0 f1" in str(runs_form(table, lines_of(table, [fitted])).notes)

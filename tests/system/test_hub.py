"""The command line against a Hugging Face Hub, which is first served from this machine and then gone."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from datasets import ClassLabel, Dataset, Features, List, Value
from support.hub import User
from support.hub_server import HubServer, Kind
from support.published import BERTS, Published, wordpiece_file
from transformers import BertForPreTraining

pytestmark = pytest.mark.slow

MODEL, CASED = "google-bert/bert-base-uncased", "google-bert/bert-base-cased"
DATA = "nyu-mll/glue"
KEPT_MODEL = "models--google-bert--bert-base-uncased"  # its folder in the cache
BERT = Published(  # pretraining heads, LayerNorms with gamma and beta, other formats
    BertForPreTraining, wordpiece_file(BERTS, "BertTokenizer", whole=True), old_names=True
)
ROWS = {"train": 64, "validation": 32, "test": 16}
STEPS = ("finding the encoder's weights", "reading rows")  # that are told before an error
NOUNS = ("cat", "dog", "king", "river", "market", "ship", "garden", "judge")
COLA = Features(sentence=Value("string"), label=ClassLabel(names=["unacceptable", "acceptable"]), idx=Value("int32"))
MRPC = Features(
    sentence1=Value("string"),
    sentence2=Value("string"),
    label=ClassLabel(names=["not_equivalent", "equivalent"]),
    idx=Value("int32"),
)
Finished = subprocess.CompletedProcess[str]


def records(user: User) -> list[dict[str, Any]]:
    """The records of a user's MRPC runs, the oldest first."""
    files = sorted(user.folder.glob("results/mrpc/*/record.json"), key=lambda file: file.stat().st_mtime_ns)
    return [json.loads(file.read_text()) for file in files]


@dataclass(frozen=True)
class Visit:
    """What a user did while the Hub was there, and what the Hub was asked for."""

    user: User
    run: Finished
    record: dict[str, Any]
    requests: list[str]
    unknown: Finished
    commit: str


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Visit:
    """One run from the Hub and one of a model that it lacks; the Hub is gone when a test gets this."""
    served = tmp_path_factory.mktemp("served")
    BERT.write(served / "model")
    write_data(served / "data")
    with HubServer({("model", MODEL): served / "model", ("dataset", DATA): served / "data"}) as hub:
        user = User(tmp_path_factory.mktemp("user"), hub.url)
        run = user.finetune("run", "glue-mrpc")
        assert run.returncode == 0, run.stderr
        requests = list(hub.requests)
        unknown = user.finetune("run", "glue-mrpc", "model=nobody/nothing")
    return Visit(user, run, records(user)[0], requests, unknown, hub.repositories["model", MODEL].commit)


def test_the_recipe_runs_from_the_hub_and_is_found_without_it(visit: Visit) -> None:
    record = visit.record
    assert (record["model"], record["weights"]) == (MODEL, visit.commit)
    assert record["rows"] == {"train": ROWS["train"], "dev": ROWS["validation"]}
    assert record["data_origin"] == {"train": f"{DATA} (mrpc, train)", "dev": f"{DATA} (mrpc, validation)"}
    assert record["new_weights"] == []  # every weight of the encoder came from the file
    assert fetched(visit.requests, f"/{MODEL}/") == {
        *("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt")
    }
    tables = {path for path in fetched(visit.requests, f"/datasets/{DATA}/") if path.endswith(".parquet")}
    assert tables >= {table("mrpc", "train"), table("mrpc", "validation")}
    assert all(path.startswith("mrpc/") for path in tables)
    again = visit.user.finetune("run", "glue-mrpc")
    assert (again.returncode, "already done" in again.stderr) == (0, True), again.stderr
    assert "nobody/nothing" in only_error(visit.unknown)
    assert len(records(visit.user)) == 1


@pytest.mark.parametrize("kept", [pytest.param("", marks=pytest.mark.nightly), KEPT_MODEL])
def test_without_the_hub_a_model_or_data_that_is_not_cached_is_one_line(
    kept: str, visit: Visit, tmp_path: Path
) -> None:
    newcomer = User(tmp_path, visit.user.url)
    if kept:
        shutil.copytree(visit.user.folder / "hf/hub" / kept, tmp_path / "hf/hub" / kept)
    error = only_error(newcomer.finetune("run", "glue-mrpc"))
    assert [word for word in ((DATA, "--data") if kept else (MODEL, "model=minilm")) if word not in error] == []
    assert not (tmp_path / "results").exists()


def tagged(*kinds: str) -> Features:
    tags = ["O", *(f"{prefix}-{kind}" for kind in kinds for prefix in "BI")]
    return Features(tokens=List(Value("string")), ner_tags=List(ClassLabel(names=tags)))


QUESTION = {"title": "T", "context": "the cat sees the dog", "question": "who ?"}
QUESTION |= {"answers": {"text": ["cat", "cat"], "answer_start": [4, 4]}}
SWAG = {"sent1": "the cat sees", "sent2": "it", **{f"ending{i}": noun for i, noun in enumerate(NOUNS[:4])}}
SETS: dict[str, tuple[str, str, list[dict[str, Any]], Features | None, str, str]] = {
    # recipe: its data on the Hub, their path, rows, columns, what `check` calls the place, the label of the first row
    "conll-2003": (
        *("lhoestq/conll2003", "data/{}-00000-of-00001.parquet"),
        *([{"tokens": ["the", "cat", "judge"], "ner_tags": [0, 1, 2]}] * 4, tagged("PER", "ORG", "LOC", "MISC")),
        *("train", "the/O cat/B-PER judge/I-PER"),
    ),
    "wnut-17": (
        *("leondz/wnut_17", "wnut_17/{}/0000.parquet"),
        *([{"tokens": ["the", "cat"], "ner_tags": [0, 3]}] * 4, tagged("corporation", "person")),
        *("train", "the/O cat/B-person"),
    ),
    "squad-v1": (
        *("rajpurkar/squad", "plain_text/{}-00000-of-00001.parquet"),
        *([QUESTION | {"id": f"q{i}"} for i in range(4)], None, "train", "cat"),
    ),
    "swag": (
        *("allenai/swag", "regular/{}-00000-of-1.parquet"),
        *([SWAG | {"label": i} for i in range(4)], None, "regular, train", "0"),
    ),
}


@pytest.mark.nightly
@pytest.mark.parametrize("recipe", SETS)
def test_the_other_shapes_are_read_from_the_hub_in_the_real_ones_columns(recipe: str, tmp_path: Path) -> None:
    repository, path, rows, features, place, label = SETS[recipe]
    BERT.write(tmp_path / "model")
    for split in ROWS:
        (file := tmp_path / "data" / path.format(split)).parent.mkdir(parents=True, exist_ok=True)
        Dataset.from_list(rows, features=features).to_parquet(file)
    if (config := path.split("/")[0]) in ("plain_text", "regular"):
        patterns = [{"split": split, "path": f"{config}/{split}-*"} for split in ROWS]
        card = json.dumps({"configs": [{"config_name": config, "data_files": patterns}]})
        (tmp_path / "data" / "README.md").write_text(f"---\n{card}\n---\n")
    folders: dict[tuple[Kind, str], Path] = {("model", name): tmp_path / "model" for name in (MODEL, CASED)}
    (tmp_path / "user").mkdir()
    with HubServer({**folders, ("dataset", repository): tmp_path / "data"}) as hub:
        found = User(tmp_path / "user", hub.url).finetune("check", recipe, "--json", "max_length=64")
    assert found.returncode == 0, found.stderr
    facts = json.loads(found.stdout)
    assert (facts["facts"]["train"]["from"], facts["facts"]["train"]["rows"]) == (f"{repository} ({place})", 4)
    assert facts["examples"][0]["label"].startswith(label)


def fetched(requests: list[str], repository: str) -> set[str]:
    """Paths of the files that were fetched from a repository, at the one commit that it has."""
    resolved = re.compile(rf"GET {repository}resolve/[0-9a-f]{{40}}/(.+)")
    return {found[1] for request in requests if (found := resolved.fullmatch(request))}


def only_error(finished: Finished) -> str:
    """The line of standard error with which a user's mistake ends, after those that say what is being done."""
    assert finished.returncode == 2, finished.stderr
    assert "Traceback" not in finished.stderr
    *before, line = finished.stderr.splitlines()
    assert line.startswith("error: ")
    assert all(": loading " in other or other in STEPS for other in before)
    return line


def write_data(folder: Path) -> None:
    """CoLA and MRPC in the real repository's layout, with CoLA first."""
    infos, configs = [], []
    for config, features in (("cola", COLA), ("mrpc", MRPC)):
        (folder / config).mkdir(parents=True)
        for split, count in ROWS.items():
            rows = [{key: row(i)[key] for key in features} for i in range(count)]
            Dataset.from_list(rows, features=features).to_parquet(folder / table(config, split))
        splits = [{"name": split, "num_bytes": 1000, "num_examples": count} for split, count in ROWS.items()]
        infos.append({"config_name": config, "features": features._to_yaml_list(), "splits": splits})
        patterns = [{"split": split, "path": f"{config}/{split}-*"} for split in ROWS]
        configs.append({"config_name": config, "data_files": patterns})
    card = json.dumps({"pretty_name": "GLUE", "dataset_info": infos, "configs": configs})  # JSON is YAML
    (folder / "README.md").write_text(f"---\n{card}\n---\n\n# GLUE\n")


def row(index: int) -> dict[str, Any]:
    """Odd rows say the same in both sentences."""
    one, two, three = (NOUNS[(index + step) % len(NOUNS)] for step in (0, index % 7 + 1, 3))
    label = index % 2
    sentence = f"the {one} sees the {two}"
    other = f"the {two if label else three} is seen by the {one}"
    return {"sentence": sentence, "sentence1": sentence, "sentence2": other, "label": label, "idx": index}


def table(config: str, split: str) -> str:
    return f"{config}/{split}-00000-of-00001.parquet"

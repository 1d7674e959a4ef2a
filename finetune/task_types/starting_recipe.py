"""The default recipe for user data, which `finetune run reviews.csv` runs and `finetune init` prints."""

from collections.abc import Mapping, Sequence
from typing import Any

from finetune.gone import gone_setting
from finetune.models.encoder_size import default_rate, longest_input
from finetune.models.tokenizers.encoding import POSITIONS
from finetune.runs.recipe import LARGEST, Recipe
from finetune.runs.resolve import parse, with_settings
from finetune.runs.settings import is_new
from finetune.task_types.columns import OPTIONS, Layout, own_data
from finetune.task_types.declared import metric_names
from finetune.task_types.dev_split import DEV_SHARE
from finetune.task_types.first_rows import describe_rows, tokens_of_nearly_all
from finetune.task_types.own_data import OwnData, every_option, own_task
from finetune.task_types.own_type import OwnType
from finetune.task_types.pretraining.own import Text, own_text, reading_lines
from finetune.task_types.task import Task
from finetune.task_types.types import named_type

ADAPTING = {"batch_size": 32, "updates": 2_000, "learning_rate": 1e-4}
FROM_SCRATCH = {"batch_size": 16, "updates": 8_000, "learning_rate": 1e-3}  # results/simplewiki: small batches win
MASK_SHARE = 0.3  # from scratch, where 15 % learn more slowly
MODEL = "minilm"  # small enough to train in minutes without a GPU
LENGTHS, LONG_LENGTHS = (64, 128, 256), (512, 1_024, 2_048, 4_096, 8_192)  # tokens; the long for encoders that are
TOKENS_AT_ONCE = 32 * LENGTHS[-1]
# Few rows need small batches and a least number of updates, or training ends while the head is still random: 24 rows in
# batches of 32 made 10 updates, and a model below TF-IDF. docs/how-to/few-rows.md has what was measured.
LEAST_UPDATES = 100
SMALL_BATCHES = {8: 500, 16: 2_000}  # batch size: rows below which it is used
# A score of few rows is noise: it neither chooses weights nor ends training.
DEV_TO_CHOOSE, DEV_TO_STOP = 50, 100
PATIENCE, PATIENT_UPDATES = 2, 50  # epochs without a better score that end training, and the least updates of these

ABOUT_LABELS = (
    "For better scores name a larger encoder, such as google-bert/bert-base-uncased (then learning_rate = 2e-5);",
    "for Korean klue/bert-base or klue/roberta-base, for many languages google-bert/bert-base-multilingual-cased.",
)
ABOUT_TEXT = (
    "Adapts the encoder to the text; `model=RUN` then fine-tunes it on a task. An encoder from scratch, with a",
    "vocabulary of the text or one named by tokenizer: finetune init FILE model=new:mini",
)


def starting_recipe(path: str, settings: Mapping[str, Any], *, checkpoint: str = "") -> tuple[Recipe, Task]:
    """The recipe for a file or folder of data with `settings` (dotted keys) applied, and the task of that data.

    Where dev has enough rows it keeps the best epoch, and stops early. `checkpoint` is the encoder from which the
    settings' model began, if that is of a run: it decides the learning rate. Raises UserError as reading does.
    """
    for key in settings:  # before the data is read, which may ask
        if taken_out := gone_setting(key):
            raise taken_out
    settings = {(f"options.{key}" if key in OPTIONS else key): value for key, value in settings.items()}
    data_options = {key: settings[f"options.{key}"] for key in OPTIONS if f"options.{key}" in settings}
    model = str(settings.get("model", MODEL))
    task = own_task(path, data_options)
    read = own_data(task)
    if read is None:
        scratch = is_new(model)
        train = dict(FROM_SCRATCH if scratch else ADAPTING)
        if "train.epochs" in settings:
            del train["updates"]
        options = {"shape": Text.name, **({"mask_share": MASK_SHARE} if scratch else {}), **data_options}
        table = {"task": path, "model": model, "max_length": Text.max_length, "options": options, "train": train}
    else:
        table = _table(path, read, settings, model=model, encoder=checkpoint or model)
    recipe = parse(table, origin=path)
    return with_settings(recipe, settings, origin="settings", options=lambda _: every_option()), task


def _table(path: str, read: OwnData, settings: Mapping[str, Any], *, model: str, encoder: str) -> dict[str, Any]:
    """The recipe for labelled data, before the settings are applied; training began with the `encoder`."""
    kind = named_type(read.layout.shape)
    names = ("dev", "test", "split", "encoding")
    data_options = {name: str(settings[f"options.{name}"]) for name in names if f"options.{name}" in settings}
    length = length_for(read.layout, read.tokens, encoder)
    training = _training(kind, read, settings)
    parts = min(training["batch_size"], -(-training["batch_size"] * length // TOKENS_AT_ONCE))
    if length > LENGTHS[-1] and parts > 1 and not any(key.endswith(("batch_size", "max_length")) for key in settings):
        training["accumulation"] = parts  # so that long texts take no more memory than others
    return {
        "task": f"./{path}" if path in metric_names() else path,
        "model": model,
        "max_length": length,
        **({"pooling": "auto"} if kind.labels_rows else {}),
        "options": {**read.layout.options(), **data_options},
        "train": {"learning_rate": default_rate(encoder), **training},
    }


def _training(kind: OwnType, read: OwnData, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Batch size, length and choice of weights for the numbers of rows to train on and of dev; see LEAST_UPDATES."""
    limit = str(settings.get("limit", ""))
    most = int(limit) if limit.isdecimal() and int(limit) else LARGEST  # another is refused with the recipe
    rows = read.size("train")
    dev = read.size("dev") if "dev" in read.files else round(DEV_SHARE * rows)
    rows, dev = min(most, rows if "dev" in read.files else rows - dev), min(most, dev)
    size = min(next((size for size, below in SMALL_BATCHES.items() if rows < below), LARGEST), kind.batch_size)
    length = {"epochs": 10 if rows < 2_000 else 5 if rows < 20_000 else 3, "least_updates": LEAST_UPDATES}
    patient = dev >= DEV_TO_STOP and PATIENCE * rows >= PATIENT_UPDATES * size
    return {
        "batch_size": size,
        **({} if settings.keys() & {"train.epochs", "train.updates"} else length),
        **({"select": "best"} if dev >= DEV_TO_CHOOSE else {}),
        **({"patience": PATIENCE} if patient else {}),
    }


def commented(recipe: Recipe, task: Task) -> str:
    """The recipe as a file, with comments: the command that runs it, how the data is read, and why."""
    corpus, read = own_text(task), own_data(task)
    if corpus is not None:
        comments = ["The text as it is read:", *(f"  {line}" for line in reading_lines(corpus)), *ABOUT_TEXT]
    else:
        assert read is not None
        rows = describe_rows(read.layout, read.table(read.files["train"]), split=read.split)
        why = [f"  {name}: {' '.join(why.split())}" for name, why in read.layout.reasons.items() if why != "given"]
        guessed = ["Guessed from the data, since of", *why] if why else []
        comments = ["The data as it is read:", *(f"  {line}" for line in rows), *guessed, *ABOUT_LABELS]
    return "\n".join(["# finetune run my.toml", *(f"# {line}" for line in comments), recipe.to_toml()])


def fitting_length(layout: Layout, columns: Mapping[str, Sequence[Any]], encoder: str) -> int:
    """A max_length that fits nearly all texts, estimated from words and characters; longer ones are windowed.

    It is at most 256, unless the encoder is one for long texts.
    """
    return length_for(layout, tokens_of_nearly_all(layout, columns), encoder)


def length_for(layout: Layout, tokens: float, encoder: str) -> int:
    """`fitting_length` of texts of which nearly all have so many tokens."""
    fixed = named_type(layout.shape).max_length
    if fixed is not None:
        return fixed
    most = longest_input(encoder)
    lengths = [*LENGTHS, *(length for length in LONG_LENGTHS if most > POSITIONS and length <= most)]
    return next((length for length in lengths if tokens < length - 4), lengths[-1])

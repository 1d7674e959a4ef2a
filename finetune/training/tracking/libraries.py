"""What differs between the libraries behind Accelerate's trackers: how a run is opened, continued, and given files."""

import logging
import os
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from finetune.data.atomic import require_no_links
from finetune.runs.record import RunRecord
from finetune.training.tracking.names import MODULES
from finetune.training.tracking.values import final_table, final_table_markdown

ANSWER_SECONDS = 5.0  # that a server has to answer
ID_TAG = "finetune.run"  # by which MLflow, which makes its own ids, finds a run again


@dataclass(frozen=True, kw_only=True)
class TrackedRun:
    """A run as trackers know it: its id, the folder name of its task as project, and the folder of all runs."""

    id: str
    project: str
    out: Path

    @classmethod
    def of(cls, folder: Path) -> "TrackedRun":
        """The run of a folder."""
        path = folder.resolve()
        return cls(id=path.name, project=path.parent.name, out=path.parents[1])


class Library:
    """A tracker of Accelerate of which nothing else is known: it gets settings and numbers."""

    def __init__(self, name: str) -> None:
        self.name = name

    def prepare(self) -> None:
        """Imports the library, in the main thread: a hung import would block all others."""
        if self.name in MODULES:
            import_module(MODULES[self.name])

    def opened(self, run: TrackedRun) -> Any:
        """Accelerate's tracker, started. Raises OSError where a server does not answer."""
        from accelerate.tracking import LOGGER_TYPE_TO_CLASS

        if address := self.address():
            _require_answer(address)
        tracker = LOGGER_TYPE_TO_CLASS[self.name](run.project, **self.options(run))
        tracker.main_process_only = False  # only the first process tracks; its state is not for other threads
        tracker.start()
        return tracker

    def address(self) -> str:
        """The address of the server; empty where there is none."""
        return ""

    def options(self, run: TrackedRun) -> dict[str, Any]:
        """The arguments of Accelerate's class."""
        from accelerate.tracking import LOGGER_TYPE_TO_CLASS

        if LOGGER_TYPE_TO_CLASS[self.name].requires_logging_directory:
            return self.folder(run)
        return {}

    def folder(self, run: TrackedRun) -> dict[str, Any]:
        """The folder of the library's files. Raises UserError where it is elsewhere, through a symbolic link."""
        require_no_links(run.out / self.name)
        return {"logging_dir": str(run.out / self.name)}

    def at(self, time: float) -> dict[str, Any]:
        """The arguments of `log` that set the Unix time of a point."""
        return {}

    def configure(self, tracker: Any, settings: dict[str, Any]) -> None:
        """Sends the settings."""
        tracker.store_init_configuration(settings)

    def send_record(self, tracker: Any, record: RunRecord, file: Path) -> None:
        """Sends the final table, and the record as a file."""

    def give_up(self) -> None:
        """Lets the process end without waiting for the library."""


class TensorBoard(Library):
    """Event files under `<out>/tensorboard/<task>/<id>`."""

    def prepare(self) -> None:
        """Imports torch's writer too."""
        import_module("torch.utils.tensorboard")

    def options(self, run: TrackedRun) -> dict[str, Any]:
        """The folder; the run's name is below the project's."""
        return self.folder(run)

    def opened(self, run: TrackedRun) -> Any:
        """Accelerate's tracker takes the project's name for a folder: the run's is below it."""
        below = TrackedRun(id=run.id, project=f"{run.project}/{run.id}", out=run.out)
        return super().opened(below)

    def at(self, time: float) -> dict[str, Any]:
        """The time of the event."""
        return {"walltime": time}

    def send_record(self, tracker: Any, record: RunRecord, file: Path) -> None:
        """Both as texts: event files hold no others."""
        indented = "\n".join(f"    {line}" for line in file.read_text(encoding="utf-8").splitlines())
        tracker.log({"final": final_table_markdown(record), "record": indented}, step=0)


class MLflow(Library):
    """A run with the id as name and tag, in the experiment of the task."""

    def prepare(self) -> None:
        """Imports it; a local database is made here, for one that is half made would be of no use."""
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", f"{ANSWER_SECONDS:g}")  # of 120 s
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")  # of 7, which take minutes
        os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
        mlflow = import_module("mlflow")
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.ERROR)
        if not self.address():
            mlflow.search_experiments(max_results=1)

    def address(self) -> str:
        """The server, if the tracking URI is that of one."""
        uri = str(import_module("mlflow").get_tracking_uri())
        return uri if uri.startswith("http") else ""

    def options(self, run: TrackedRun) -> dict[str, Any]:
        """The id of the run with our tag, which is continued, or the name and tag of a new one."""
        mlflow = import_module("mlflow")
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", run.project)
        found = mlflow.search_runs(
            experiment_names=[name], filter_string=f"tags.`{ID_TAG}` = '{run.id}'", output_format="list", max_results=1
        )
        return {"run_id": found[0].info.run_id} if found else {"run_name": run.id, "tags": {ID_TAG: run.id}}

    def at(self, time: float) -> dict[str, Any]:
        """Milliseconds of a whole second, so that a point that is sent twice is one."""
        return {"timestamp": 1000 * int(time)}

    def send_record(self, tracker: Any, record: RunRecord, file: Path) -> None:
        """Both as artifacts."""
        mlflow = import_module("mlflow")
        mlflow.log_text(final_table_markdown(record), "final.md")
        tracker.log_artifact(str(file))


class Wandb(Library):
    """A run with the id, in the project of the task."""

    def prepare(self) -> None:
        """Imports it; it neither prints nor asks for a key on the terminal, where one is missing."""
        os.environ.setdefault("WANDB_SILENT", "true")
        import_module("wandb").setup()

    def address(self) -> str:
        """The server, unless it is offline."""
        settings = import_module("wandb").setup().settings
        return str(settings.base_url) if settings.mode in (None, "online", "shared") else ""

    def options(self, run: TrackedRun) -> dict[str, Any]:
        """The id, to be continued if it is there; its output is not captured, and it prints nothing."""
        wandb = import_module("wandb")
        quiet = wandb.Settings(console="off", silent=True, init_timeout=20, finish_timeout=20)
        return {"id": run.id, "name": run.id, "resume": "allow", "reinit": "create_new", "settings": quiet}

    def configure(self, tracker: Any, settings: dict[str, Any]) -> None:
        """Accelerate's class takes the first run of the process for the only one."""
        tracker.tracker.config.update(settings, allow_val_change=True)

    def send_record(self, tracker: Any, record: RunRecord, file: Path) -> None:
        """A table, and an artifact."""
        wandb = import_module("wandb")
        columns, rows = final_table(record)
        tracker.log_table("final", columns=columns, data=rows)
        artifact = wandb.Artifact(f"record-{record.id}", type="record")
        artifact.add_file(str(file))
        tracker.tracker.log_artifact(artifact)

    def give_up(self) -> None:
        """Takes back that this process waits for wandb's when it ends, which takes minutes without a server.

        Not where the program has a run of wandb too.
        """
        wandb = import_module("wandb")
        with suppress(AttributeError):
            if wandb.run is None and (connection := wandb.setup()._connection) is not None:
                connection._cleanup()


class Trackio(Library):
    """A run with the id as name, in the project of the task."""

    def prepare(self) -> None:
        """Imports it, and lets it print nothing."""
        for name in ("trackio", "trackio.run", "trackio.utils"):
            import_module(name).__dict__["print"] = lambda *_, **__: None

    def options(self, run: TrackedRun) -> dict[str, Any]:
        """The name, to be continued if it is there."""
        return {"name": run.id, "resume": "allow", "embed": False, "auto_log_cpu": False, "auto_log_gpu": False}

    def configure(self, tracker: Any, settings: dict[str, Any]) -> None:
        """Accelerate's class adds an option of another library to them."""
        tracker.tracker.config.update(settings)

    def send_record(self, tracker: Any, record: RunRecord, file: Path) -> None:
        """A table, and an artifact."""
        pandas, trackio = import_module("pandas"), import_module("trackio")
        columns, rows = final_table(record)
        tracker.log({"final": trackio.Table(dataframe=pandas.DataFrame(rows, columns=columns))})
        tracker.tracker.log_artifact(str(file), name=f"record-{record.id}", type="record")


KNOWN = {"tensorboard": TensorBoard, "mlflow": MLflow, "wandb": Wandb, "trackio": Trackio}


def library(name: str) -> Library:
    """The library of a tracker."""
    return KNOWN.get(name, Library)(name)


def _require_answer(address: str) -> None:
    """Raises OSError unless a server answers, whatever it says."""
    try:
        urllib.request.urlopen(address, timeout=ANSWER_SECONDS).close()
    except HTTPError:
        pass
    except OSError as error:
        raise OSError(f"{address} does not answer ({getattr(error, 'reason', error)})") from error

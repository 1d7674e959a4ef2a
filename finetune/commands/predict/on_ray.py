"""Predicts a folder of Parquet by Ray Data: `map_batches` over it, on the cluster that `ray.init` finds."""

import logging
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from finetune.data.file_format import FileFormat
from finetune.data.formats import parquet
from finetune.data.messages import so_many
from finetune.data.table import table_of_records
from finetune.errors import UserError, first_line
from finetune.inference.answer_rows import ERROR, WINDOW, free_name
from finetune.inference.model_source import ModelSource
from finetune.inference.predict_plan import SAMPLE_ROWS, known_type, layout_for

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # on every system: a local cluster listens on loopback alone
}


@contextmanager
def ray_cluster() -> Iterator[Any]:
    """The module `ray`, connected. A connection that the caller has already is used, and stays.

    Raises UserError where Ray is not installed, does not start, or finds no cluster at $RAY_ADDRESS.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise UserError("Ray is not installed", "pip install 'bert-finetune[ray]'") from error
    if ray.is_initialized():
        yield ray
        return
    handler = signal.getsignal(signal.SIGTERM)  # which Ray replaces
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    try:
        ray.init(configure_logging=False, log_to_driver=False, include_dashboard=False)
    except Exception as error:  # Ray raises its own and built-in ones, such as ConnectionError and RuntimeError
        raise UserError(f"Ray did not start ({first_line(error)})", "Check RAY_ADDRESS, or leave `on` out") from error
    try:
        with suppress(ValueError):  # outside the main thread
            signal.signal(signal.SIGTERM, handler)
        yield ray
    finally:
        ray.shutdown()


class Answers:
    """An actor of Ray Data: a model, which is loaded once, and the predictions of batches."""

    def __init__(self, source: ModelSource, options: Mapping[str, str]) -> None:
        self.predictor = source.load()
        self.options = options

    def __call__(self, batch: Any) -> Any:
        """A batch, a pyarrow table, with the columns of its predictions, the error last."""
        import pyarrow as pa

        predictor, task = self.predictor, self.predictor.task
        records = list(parquet.records_of(batch.to_batches()))
        sample = table_of_records(Path("batch"), FileFormat(format=parquet.FORMAT), records[:SAMPLE_ROWS])
        layout, _ = layout_for(known_type(task), predictor.layout, sample, self.options, inputs=task.inputs)
        taken, error = set(batch.column_names), free_name(ERROR, batch.column_names)
        rows = [
            {free_name(name, taken): cell for name, cell in predictor.cells(one).items()}
            for window in predictor.predicted(((record, layout) for record in records), first=WINDOW)
            for one in window
        ]
        names = [name for name in dict.fromkeys(name for row in rows for name in row) if name != error]
        schema = parquet.schema_of(rows, names).append(pa.field(error, pa.string()))
        predicted = pa.concat_tables(parquet.tables_of(rows, schema))
        for name in predicted.column_names:
            batch = batch.append_column(predicted.schema.field(name), predicted.column(name))
        return batch


def predict_on_ray(source: ModelSource, folder: Path, output: Path, options: Mapping[str, str]) -> str:
    """Predicts a folder into new Parquet files in another one, with the model of `source`; what was
    done, in a line.

    An actor takes a CPU core, and a GPU where the cluster has one. Raises UserError where Ray cannot be used, for rows
    that cannot be read, and for an output that holds anything.
    """
    import pyarrow.dataset as ds

    if output.exists() and any(output.iterdir()):
        raise UserError(f"{output}: is not empty, and Ray adds files to what is there", "Name another folder with -o")
    with ray_cluster() as ray:
        data = import_module("ray.data")
        data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        there = ray.cluster_resources()
        gpus = int(source.device != "cpu" and there.get("GPU", 0) > 0)
        most = int(there["GPU"] if gpus else max(1, there["CPU"] - 1))  # a core is left to read
        try:
            data.read_parquet(str(folder.resolve())).map_batches(
                Answers, fn_constructor_args=(source, options), batch_size=WINDOW,
                batch_format="pyarrow", concurrency=(1, most), num_cpus=1, num_gpus=gpus,
            ).write_parquet(str(output.resolve()))  # fmt: skip
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            raise (
                cause
                if isinstance(cause, UserError)
                else UserError(f"{folder}: Ray could not predict it ({first_line(error)})", "Predict it without `on`")
            ) from error
    written = ds.dataset(sorted(map(str, output.rglob("*.parquet"))))
    column = next(name for name in reversed(written.schema.names) if name.endswith(ERROR))
    failed = written.count_rows(filter=~ds.field(column).is_null())
    without = f", {failed:,} without a prediction: the column `{column}` says why" if failed else ""
    return f"{so_many(written.count_rows())} -> {output}{without}"

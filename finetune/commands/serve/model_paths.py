"""The paths of one model: rows, a CSV file, and an explanation."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from finetune.commands.serve.bodies import Bodies, json_object, sent_rows, tokens_of_rows
from finetune.commands.serve.csv_rows import csv_rows
from finetune.commands.serve.explained import explain, require_explained
from finetune.commands.serve.refused import Refused, json_response
from finetune.commands.serve.served_model import ServedModel
from finetune.commands.serve.served_models import ServedModels
from finetune.commands.serve.server_paths import Endpoint
from finetune.errors import UserError
from finetune.inference.answer_rows import ERROR

JSON, CSV = "application/json", "text/csv"
LogRows = Callable[[Sequence[Any]], None]


class ModelPaths:
    """The endpoints of the model of that name, whichever it is when a request arrives."""

    def __init__(self, models: ServedModels, name: str, *, bodies: Bodies, log_rows: LogRows) -> None:
        self.models, self.name, self.limits = models, name, models.limits
        self.bodies, self.log_rows = bodies, log_rows
        self._explanations = 0

    @property
    def model(self) -> ServedModel:
        """The model."""
        return self.models.by_name[self.name]

    def endpoint(self, path: str) -> Endpoint:
        """What a path answers to POST."""
        return {"/predict": self.predict, "/explain": self.explain, "/file": self.file}[path]

    def described(self, path: str) -> dict[str, Any]:
        """The body of a path in OpenAPI, with an example of the model's own columns."""
        row = self.model.example()
        examples = {
            "/predict": (JSON, {"rows": [row]}),
            "/explain": (JSON, {"row": row}),
            "/file": (CSV, ",".join(row) + "\n" + ",".join(map(str, row.values())) + "\n"),
        }
        kind, example = examples[path]
        schema = {"type": "string" if kind == CSV else "object"}
        return {"requestBody": {"required": True, "content": {kind: {"schema": schema, "example": example}}}}

    async def predict(self, request: Request) -> Response:
        """A prediction for each row, or its error."""
        async with self.bodies.read(request, JSON) as body:
            rows = sent_rows(json_object(body), self.limits)
            found = await self._predicted(request, rows)
        return json_response({"predictions": found, "model": self.name})

    async def explain(self, request: Request) -> Response:
        """What each word of a row adds to its prediction."""
        async with self.bodies.read(request, JSON) as body:
            given, model = json_object(body), self.model
            require_explained(model)
            if set(given) != {"row"}:
                raise Refused(400, "the body has not `row` alone", 'Send {"row": {"COLUMN": "a text"}}')
            rows = [given["row"]]
            tokens = tokens_of_rows(rows, self.limits)
            with self._explaining():
                (found,) = await self.models.compute(request, self.name, partial(explain, model), rows, tokens)
        return json_response(found)

    async def file(self, request: Request) -> Response:
        """The CSV file with the columns of the predictions."""
        async with self.bodies.read(request, CSV) as body:
            with TemporaryDirectory() as folder:
                return await self._file(request, body, Path(folder))

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Counts an explanation, which takes the time of many predictions. Raises Refused where another waits."""
        if self._explanations >= self.limits.explanations:
            headers = {"Retry-After": "1"}
            raise Refused(503, "another explanation waits already", "Try again later", headers=headers)
        self._explanations += 1
        try:
            yield
        finally:
            self._explanations -= 1

    async def _predicted(self, request: Request, rows: Sequence[Any]) -> list[dict[str, Any]]:
        tokens = tokens_of_rows(rows, self.limits)
        self.log_rows(rows)
        found = await self.models.compute(request, self.name, self.model.predict, rows, tokens)
        self._count(found)
        return found

    async def _file(self, request: Request, body: bytes, folder: Path) -> Response:
        file = folder / "rows.csv"
        file.write_bytes(body)
        try:
            rows = await asyncio.to_thread(csv_rows, self.model, file, most=self.limits.file_rows)
            tokens = tokens_of_rows([dict(record.values) for record in rows.records], self.limits)
            seconds = self.limits.file_seconds
            found = await self.models.compute(request, self.name, rows.answers, rows.records, tokens, seconds=seconds)
            content = await asyncio.to_thread(rows.written, found, folder / "predicted.csv")
        except UserError as error:
            raise Refused(400, error.what.replace(f"{folder}/", ""), error.way_out) from error
        self._count([one.cells for one in found])
        return Response(content, media_type=CSV)

    def _count(self, found: Sequence[dict[str, Any]]) -> None:
        failed = sum(ERROR in cells for cells in found)
        self.models.meters.rows(self.name, answered=len(found) - failed, failed=failed)

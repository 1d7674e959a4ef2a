"""The paths of one model: predictions of rows, and an explanation of one."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from finetune.commands.serve.bodies import JSON, Bodies, sent_rows, tokens_of_rows
from finetune.commands.serve.explained import explain, require_explained
from finetune.commands.serve.refused import Refused, json_response
from finetune.commands.serve.served_model import ServedModel
from finetune.commands.serve.served_models import ServedModels
from finetune.commands.serve.server_paths import Endpoint


class ModelPaths:
    """The endpoints of a model."""

    def __init__(self, models: ServedModels, model: ServedModel, *, bodies: Bodies) -> None:
        self.models, self.model, self.limits = models, model, models.limits
        self.bodies = bodies
        self._explanations = 0

    def endpoint(self, path: str) -> Endpoint:
        """What a path answers to POST."""
        return {"/predict": self.predict, "/explain": self.explain}[path]

    def described(self, path: str) -> dict[str, Any]:
        """The body of a path in OpenAPI, with an example of the model's own columns."""
        row = self.model.example()
        content = {"schema": {"type": "object"}, "example": {"rows": [row]} if path == "/predict" else {"row": row}}
        return {"requestBody": {"required": True, "content": {JSON: content}}}

    async def predict(self, request: Request) -> Response:
        """A prediction for each row, or its error."""
        async with self.bodies.read(request) as given:
            rows = sent_rows(given, self.limits)
            tokens = tokens_of_rows(rows, self.limits)
            found = await self.models.compute(request, self.model.name, self.model.predict, rows, tokens)
        return json_response({"predictions": found, "model": self.model.name})

    async def explain(self, request: Request) -> Response:
        """What each word of a row adds to its prediction."""
        async with self.bodies.read(request) as given:
            require_explained(self.model)
            if set(given) != {"row"}:
                raise Refused(400, "the body has not `row` alone", 'Send {"row": {"COLUMN": "a text"}}')
            rows, work = [given["row"]], partial(explain, self.model)
            tokens = tokens_of_rows(rows, self.limits)
            with self._explaining():
                (found,) = await self.models.compute(request, self.model.name, work, rows, tokens)
        return json_response(found)

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

"""The application: read this file first. Paths, and what each answers.

With one model its paths are also without its name (`/predict` and `/NAME/predict`).

- `POST /predict`, `{"rows": [{"COLUMN": value, ...}, ...]}` by the model's own columns, or `{"rows": ["a text", ...]}`
  -> `{"predictions": [{"prediction": ..., "p(LABEL)": ...} | {"error": "..."}, ...], "model": NAME}`, in order: the
  cells of `finetune predict`; a row without a prediction has `error` alone.
- `POST /explain`, `{"row": {...}}` -> what each word adds (`finetune explain --json`); 501 where that cannot be.
- `POST /file`, CSV with the content type text/csv -> the same CSV with the predictions' columns, as `finetune predict`
  writes it.
- `POST /` or `POST /NAME`, `{"inputs": ..., "parameters": {...}}` -> as pipelines of transformers answer.
- `GET /about` -> `{"models": [{"name", "task", "shape", "columns", "labels", "scores": {metric: {"value", "low",
  "high", "rows"}}, "fingerprint", "max_length", "engine", "calibrated", "examples": [{"row", "prediction", "label",
  "right"}], "limits": {"rows", "characters", "body_bytes"}, "explain", "choices"}]}`.
- `GET /health`, `/ready`, `/metrics`, `/openapi.json`, and `/`, the page.

Whatever is refused is `{"error": "what is wrong. How to fix it"}` with a status of 400 or more.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from finetune.commands.serve.about import facts_of
from finetune.commands.serve.bodies import Bodies, json_object, rows_in, tokens_of
from finetune.commands.serve.refused import Refused, json_response
from finetune.commands.serve.served_models import ServedModels
from finetune.version import __version__

PAGE = Path(__file__).with_name("page.html")
Endpoint = Callable[[Request], Awaitable[Response]]
JSON = "application/json"


class Paths:
    """The endpoints of each model, and those of the server."""

    def __init__(self, models: ServedModels) -> None:
        self.models = models
        self.bodies = Bodies(models.limits)

    async def page(self, request: Request) -> Response:
        """The page to try the models."""
        return HTMLResponse(PAGE.read_text(encoding="utf-8"))

    async def health(self, request: Request) -> Response:
        """Whether the process answers."""
        return json_response({"status": "ok"})

    async def about(self, request: Request) -> Response:
        """What is known of the models."""
        return json_response({"models": [facts_of(one, self.models.limits) for one in self.models.by_name.values()]})

    def predict(self, name: str) -> Endpoint:
        """The endpoint that predicts rows with a model."""

        async def endpoint(request: Request) -> Response:
            async with self.bodies.read(request, JSON) as body:
                rows = rows_in(json_object(body), self.models.limits)
                tokens = tokens_of(rows, self.models.limits)
                model = self.models.by_name[name]
                found = await self.models.compute(request, name, model.predict, rows, tokens)
            return json_response({"predictions": found, "model": name})

        return endpoint


def build_app(models: ServedModels) -> FastAPI:
    """The application of these models."""
    app, paths = FastAPI(title="finetune", version=__version__, docs_url=None, redoc_url=None), Paths(models)
    app.add_api_route("/", paths.page, methods=["GET"], include_in_schema=False)
    app.add_api_route("/health", paths.health, methods=["GET"])
    app.add_api_route("/about", paths.about, methods=["GET"])
    for name in models.by_name:
        prefixes = ["", f"/{name}"] if len(models.by_name) == 1 else [f"/{name}"]
        for prefix in prefixes:
            app.add_api_route(f"{prefix}/predict", paths.predict(name), methods=["POST"])
    app.add_exception_handler(Refused, _refused)
    return app


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return error.response()

"""The application: read this file first. Paths, and what each answers.

With one model its paths are also without its name (`/predict` and `/NAME/predict`).

- `POST /predict`, `{"rows": [{"COLUMN": value, ...}, ...]}` by the model's own columns, or `{"rows": ["a text", ...]}`
  -> `{"predictions": [{"prediction": ..., "p(LABEL)": ...} | {"error": "..."}, ...], "model": NAME}`, in order: the
  cells of `finetune predict`; a row without a prediction has `error` alone.
- `POST /explain`, `{"row": {...}}` -> what each word adds (`finetune explain --json`); 501 where that cannot be.
- `GET /about` -> `{"models": [{"name", "task", "shape", "columns", "labels", "scores": {metric: {"value", "low",
  "high", "rows", "shown"}}, "fingerprint", "max_length", "engine", "calibrated", "examples": [{"row", "prediction",
  "label", "right"}], "limits": {"rows", "characters", "body_bytes"}, "explain", "choices"}]}`; the scores of an
  export are its run's, and its own are in "check": {"rows", "equal", "score"}.
- `GET /health`, `/ready`, `/openapi.json`, and `/`, the page.

Whatever is refused is `{"error": "what is wrong. How to fix it"}` with a status of 400 or more. With a token every
request but `GET` of `/`, `/health` and `/ready` needs `Authorization: Bearer TOKEN`.
"""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from finetune.commands.serve.bodies import Bodies
from finetune.commands.serve.guard import Access, Guard
from finetune.commands.serve.model_paths import ModelPaths
from finetune.commands.serve.refused import Refused, json_response
from finetune.commands.serve.served_model import PATHS
from finetune.commands.serve.served_models import ServedModels
from finetune.commands.serve.server_paths import ServerPaths
from finetune.version import __version__

REFUSED_PATHS = {405: "the path takes another method", 404: "there is no such path"}


def unlogged(_: Any) -> None:
    """Logs nothing."""


def build_app(
    models: ServedModels,
    *,
    access: Access,
    examples: bool = True,
    log: Callable[[str], None] = unlogged,
) -> Guard:
    """The application of these models; with `examples`, `/about` has rows of dev.

    `log` gets a line for each request, without any of its text.
    """
    app = FastAPI(title="finetune", version=__version__, docs_url=None, redoc_url=None)
    server = ServerPaths(models, examples=examples)
    for path, endpoint in server.endpoints().items():
        app.add_api_route(path, endpoint, methods=["GET"], include_in_schema=path != "/")
    bodies = Bodies(models.limits)
    for name, model in models.by_name.items():
        paths = ModelPaths(models, model, bodies=bodies)
        for prefix in ["", f"/{name}"] if len(models.by_name) == 1 else [f"/{name}"]:
            for path in PATHS:
                endpoint, described = paths.endpoint(path), paths.described(path)
                app.add_api_route(f"{prefix}{path}", endpoint, methods=["POST"], openapi_extra=described)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(HTTPException, _unknown_path(list(models.by_name)))
    app.add_exception_handler(Exception, _fault)
    return Guard(app, access=access, log=log)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return error.response()


async def _fault(*_: Any) -> Response:
    return json_response({"error": "the server has a fault. Its log names the place"}, status=500)


def _unknown_path(names: list[str]) -> Any:
    """Answers where no path, or no method of it, is asked for."""
    each = "" if len(names) == 1 else f", NAME one of {', '.join(names)}"
    way_out = f"POST /predict, or GET /about{each}" if not each else f"POST /NAME/predict{each}, or GET /about"

    async def answer(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        what = REFUSED_PATHS.get(error.status_code, str(error.detail))
        return Refused(error.status_code, what, way_out, headers=error.headers or {}).response()

    return answer

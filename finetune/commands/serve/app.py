"""The application. Paths, and what each answers.

- `POST /predict`, `{"rows": [{"COLUMN": value, ...}, ...]}` by the model's own columns, or `{"rows": ["a text", ...]}`
  -> `{"predictions": [{"prediction": ..., "p(LABEL)": ...} | {"error": "..."}, ...], "model": NAME}`, in order: the
  cells of `finetune predict`; a row without a prediction has `error` alone.
- `GET /about` -> `{"models": [...]}`: columns, labels, scores and limits.
- `GET /health`, `/openapi.json`, and `/`, the page.

Whatever is refused is `{"error": "what is wrong. How to fix it"}` with a status of 400 or more. With a token every
request but `GET` of `/` and `/health` needs `Authorization: Bearer TOKEN`.
"""

import asyncio
import hmac
import json
import re
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import accumulate, groupby
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from finetune.analysis.pages.templates import script_hash
from finetune.api.model import Model
from finetune.commands.serve.model import Worker, about_model, served_predictor
from finetune.errors import UserError
from finetune.version import __version__

JSON = "application/json"
HERE = {"localhost", "127.0.0.1", "[::1]"}  # names of this machine in the header `Host`
OPEN_PATHS = {"/", "/health"}  # the page has nothing of the model, and asks for the token
POLICY = (
    "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
CLIENT_LEFT = 499  # the status, for the log alone
CHARACTERS_OF_TOKEN = 3  # an estimate: about 4 in English, 1 to 2 in Korean
TOKENS_OF_ROW = 4  # of a row without characters
LOGGED_CHARACTERS = 200  # of a path


@dataclass(frozen=True, kw_only=True)
class ServeLimits:
    """Bounds of a request (its body, the values in it, rows, and the characters of a row), of all bodies that are held,
    of requests that wait, and the seconds after which one is dropped. `tokens` are computed together, by estimate.
    """

    body_bytes: int = 8_000_000
    held_bytes: int = 128_000_000
    values: int = 200_000
    rows: int = 1_000
    characters: int = 100_000
    waiting: int = 256
    seconds: float = 30.0
    tokens: int = 4_096


class PredictRequest(BaseModel):
    """The body of a request: rows by the model's columns, lists of inputs in their order, or texts."""

    model_config = ConfigDict(extra="forbid")
    rows: list[Any]


class Refused(HTTPException):
    """Why a request has no answer: its HTTP status, what is wrong with it, and how to fix it."""

    def __init__(self, status: int, what: str, way_out: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, f"{UserError(what, way_out)}", headers)


def busy(what: str) -> Refused:
    """The refusal of what may be asked again later."""
    return Refused(503, what, "Try again later", {"Retry-After": "1"})


class Endpoints:
    """The answers of a model, and counters over all requests."""

    def __init__(self, model: Model, limits: ServeLimits) -> None:
        self.limits, self.about = limits, about_model(model) | {"limits": asdict(limits)}
        self.worker = Worker(served_predictor(model), limits.tokens)
        self._waiting = asyncio.Semaphore(limits.waiting)
        self._held = 0  # bytes

    async def predict(self, request: Request) -> Response:
        """A prediction for each row, or its error. Raises Refused where a bound is met."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON:
            raise Refused(415, f"the content type is '{kind:.100}'", f"Send {JSON}, as with -H 'Content-Type: {JSON}'")
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.seconds):
                async for chunk in request.stream():
                    body += chunk
                    self._held += len(chunk)
                    if len(body) > self.limits.body_bytes:
                        what = f"the body is larger than {self.limits.body_bytes:,} bytes"
                        raise Refused(413, what, "Send less at once", {"Connection": "close"})
                    if self._held > self.limits.held_bytes:
                        raise busy("the server holds too many large requests")
                rows, tokens = await asyncio.to_thread(rows_of_body, bytes(body), self.limits)
                if self._waiting.locked():
                    raise busy("too many requests wait")
                async with self._waiting:
                    predictions = await self._in_parts(rows, tokens)
            return JSONResponse({"predictions": predictions, "model": self.about["name"]})
        except TimeoutError:
            what = f"the request was not answered in {self.limits.seconds:g} seconds"
            raise Refused(504, what, "Send fewer rows, or try again later") from None
        except ClientDisconnect:
            raise Refused(CLIENT_LEFT, "the client has left", "Wait for the answer") from None
        except UserError as error:
            raise Refused(400, error.what, error.way_out) from error
        finally:
            self._held -= len(body)

    async def _in_parts(self, rows: Sequence[Any], tokens: Sequence[int]) -> list[Any]:
        """The worker's answers, part by part, so that others have theirs between the parts of a large request."""
        answers, numbered = list[Any](), zip(rows, tokens, accumulate(tokens), strict=True)
        for _, part in groupby(numbered, key=lambda row: row[2] // self.limits.tokens):
            together, sizes, _ = zip(*part, strict=True)
            answered: list[Any] = await asyncio.wrap_future(self.worker.submit(together, sum(sizes)))
            answers += answered
        return answers


def rows_of_body(body: bytes, limits: ServeLimits) -> tuple[list[Any], list[int]]:
    """The rows of a body, and about how many tokens each has. Raises Refused for anything else, and for too much."""
    if sum(map(body.count, (b",", b"[", b"{"))) > limits.values:  # before any is made
        raise Refused(413, f"the body has more than {limits.values:,} values", "Send less at once")
    try:
        rows = PredictRequest.model_validate_json(body).rows
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        what = f"{'.'.join(map(str, fault['loc'])) or 'the body'}: {fault['msg']}"
        raise Refused(400, what, 'Send {"rows": [...]}: objects by column, or texts') from None
    if len(rows) > limits.rows:
        raise Refused(413, f"the request has {len(rows):,} rows", f"Send at most {limits.rows:,} a request")
    characters = [len(json.dumps(row, ensure_ascii=False)) for row in rows]
    if (most := max(characters, default=0)) > limits.characters:
        what = f"row {characters.index(most) + 1} has {most:,} characters"
        raise Refused(413, what, f"Send at most {limits.characters:,} a row")
    return rows, [TOKENS_OF_ROW + count // CHARACTERS_OF_TOKEN for count in characters]


def served_page() -> HTMLResponse:
    """The page at `/`, one file; its policy lets a browser run and load nothing else, and ask this server alone."""
    package = files("finetune")
    html = (package / "commands/serve/page.html").read_text(encoding="utf-8")
    for name in ("colours", "base"):
        html = html.replace(f"/* {name} */", (package / f"analysis/pages/{name}.css").read_text(encoding="utf-8"))
    parts = {tag: re.findall(f"<{tag}[^>]*>(.*?)</{tag}>", html, re.DOTALL)[0] for tag in ("style", "script")}
    policy = POLICY.format(**{tag: script_hash(text) for tag, text in parts.items()})
    safe = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
    return HTMLResponse(html, headers=safe | {"Content-Security-Policy": policy})


def build_app(endpoints: Endpoints, *, local: bool, token: str, log: Callable[[str], None]) -> ASGIApp:
    """The application. `local` is of a server that other machines do not reach; of a token every request must have it.

    `log` gets a line for each request and each fault, without any text of a request.
    """
    app, page = FastAPI(title="finetune", version=__version__, docs_url=None, redoc_url=None), served_page()
    body = {"schema": PredictRequest.model_json_schema(), "example": {"rows": [endpoints.about["example"]]}}
    app.post("/predict", openapi_extra={"requestBody": {"required": True, "content": {JSON: body}}})(endpoints.predict)
    app.get("/about")(lambda: {"models": [endpoints.about]})
    app.get("/health")(lambda: {"status": "ok"})
    app.get("/", include_in_schema=False)(lambda: page)

    async def refused(_: Request, error: Any) -> Response:
        line = error.detail if isinstance(error, Refused) else f"{error.detail}. POST /predict, or GET /about"
        return JSONResponse({"error": line}, error.status_code, error.headers)

    async def fault(*_: Any) -> Response:
        return JSONResponse({"error": "the server has a fault. Its log names the place"}, 500)

    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Exception, fault)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.perf_counter(), CLIENT_LEFT

        async def noted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            require_access(scope, local=local, token=token)
            await app(scope, receive, noted)
        except Refused as error:
            await (await refused(Request(scope), error))(scope, receive, noted)
        except Exception as error:  # without its message, which may have parts of a text
            place = traceback.extract_tb(error.__traceback__)[-1]
            log(f"fault: {type(error).__name__} in {place.name} ({place.filename}:{place.lineno})")
        milliseconds = 1_000 * (time.perf_counter() - began)
        log(f"{scope['method']} {scope['path'][:LOGGED_CHARACTERS]} {status} {milliseconds:.1f} ms")

    return guarded


def require_access(scope: Scope, *, local: bool, token: str) -> None:
    """Raises Refused where a request lacks the token, and of a local server where it has another name for it (a
    stranger's DNS could lead here, whose page would read the answers) or comes from the page of another site.
    """
    headers = Headers(scope=scope)
    host = headers.get("host", "").lower()
    if local and re.sub(r":\d+$", "", host) not in HERE:
        raise Refused(421, f"the server is not called '{host:.100}'", f"Use http://localhost:{scope['server'][1]}")
    origin = headers.get("origin", f"http://{host}")
    if local and origin.rpartition("://")[2].lower() != host:
        raise Refused(403, f"a page of '{origin:.100}' may not ask this server", "Use the server's own page")
    is_open = scope["method"] in ("GET", "HEAD") and scope["path"] in OPEN_PATHS
    sent = headers.get("authorization", "").encode()
    if token and not is_open and not hmac.compare_digest(sent, f"Bearer {token}".encode()):
        way_out = "Send it: -H 'Authorization: Bearer TOKEN'"
        raise Refused(401, "the request has no valid token", way_out, {"WWW-Authenticate": "Bearer"})

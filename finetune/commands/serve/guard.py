"""Around the application: who may ask, what went wrong, and what is logged of a request."""

import hmac
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from finetune.commands.serve.refused import Refused
from finetune.commands.serve.served_models import GONE

OPEN = {
    "/",
    "/health",
    "/ready",
}  # paths whose GET needs no token: the page, which has nothing of the model, asks for it
OF_THIS_MACHINE = {"localhost", "127.0.0.1", "::1"}
LONGEST_PATH = 200  # characters of a path in the log


@dataclass(frozen=True, kw_only=True)
class Access:
    """Who may ask: whoever has the token, if there is one; on loopback no page of another site."""

    host: str
    token: str = ""

    @property
    def is_loopback(self) -> bool:
        """Whether other machines cannot reach the server."""
        return self.host in OF_THIS_MACHINE or self.host.startswith("127.")

    def require(self, scope: Scope) -> None:
        """Raises Refused where the request has not the token, or comes by another name or from another site."""
        headers = Headers(scope=scope)
        if self.is_loopback:
            self._require_here(headers, port=scope["server"][1])
        is_open = scope["method"] in ("GET", "HEAD") and scope["path"] in OPEN
        if self.token and not is_open:
            given = headers.get("authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
                way_out = "Send it: -H 'Authorization: Bearer TOKEN'"
                raise Refused(401, "the request has no valid token", way_out, headers={"WWW-Authenticate": "Bearer"})

    def _require_here(self, headers: Mapping[str, str], *, port: int) -> None:
        """A name that leads here by a stranger's DNS would let the stranger's page read the answers."""
        host = headers.get("host", "")
        if _hostname(f"//{host}") not in {*OF_THIS_MACHINE, self.host}:
            own = f"[{self.host}]" if ":" in self.host else self.host
            raise Refused(421, f"the server is not called '{host:.100}'", f"Use http://{own}:{port}")
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != host.lower():
            raise Refused(403, f"a page of '{origin:.100}' may not ask this server", "Use the server's own page")


class Guard:
    """The application with access, one line of log a request, and an answer to whatever goes wrong."""

    def __init__(self, app: ASGIApp, *, access: Access, log: Callable[[str], None]) -> None:
        self.app, self.access, self.log = app, access, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), [GONE]

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
            await send(message)

        try:
            self.access.require(scope)
            await self.app(scope, receive, noted)
        except Refused as refused:
            await refused.response()(scope, receive, noted)
        except ClientDisconnect:
            pass
        except Exception as error:
            self.log(_fault(error))
        finally:
            seconds = time.perf_counter() - began
            self.log(f"{scope['method']} {scope['path'][:LONGEST_PATH]} {status[0]} {1_000 * seconds:.1f} ms")


def _hostname(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _netloc(origin: str) -> str:
    """The host and port of an origin; empty for `null` and what is not one."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _fault(error: BaseException) -> str:
    """A fault of ours with its place, without its message, which may have parts of a text."""
    places = [f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in traceback.extract_tb(error.__traceback__)]
    return f"fault: {type(error).__name__} in {' < '.join(places[::-1][:5])}"

"""The bodies of requests: bounded, of the right type, and JSON of the right shape."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NoReturn

from starlette.requests import Request

from finetune.commands.serve.limits import ServeLimits
from finetune.commands.serve.refused import Refused
from finetune.errors import first_line

JSON = "application/json"
DEEPEST = 16  # levels of lists and objects in a row
CHARACTERS_OF_TOKEN = 3  # an estimate: about 4 in English, 1 to 2 in Korean
ANSWER_TOKENS = 4  # of a row without characters


class Bodies:
    """Reads bodies; all that are held at once are bounded, too."""

    def __init__(self, limits: ServeLimits) -> None:
        self.limits = limits
        self._held = 0

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[dict[str, Any]]:
        """The JSON object of a request's body, which counts as held until the end of the block.

        Raises Refused for another type, for a body that is too large or too slow, and where too many are held.
        """
        given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if given != JSON:
            raise Refused(415, f"the content type is '{given}'", f"Send {JSON}, as with -H 'Content-Type: {JSON}'")
        parts = list[bytes]()
        try:
            async with asyncio.timeout(self.limits.seconds):
                await self._collect(request, parts)
            yield _json_object(b"".join(parts))
        except TimeoutError:
            raise Refused(408, "the body did not arrive in time", "Send it again") from None
        finally:
            self._held -= sum(map(len, parts))

    async def _collect(self, request: Request, parts: list[bytes]) -> None:
        declared, size = request.headers.get("content-length", ""), 0
        if declared.isdecimal() and (len(declared) > 12 or int(declared) > self.limits.body_bytes):
            self._refuse()
        async for part in request.stream():
            parts.append(part)
            size += len(part)
            self._held += len(part)
            if size > self.limits.body_bytes:
                self._refuse()
            if self._held > self.limits.held_bytes:
                headers = {"Retry-After": "1"}
                raise Refused(503, "the server holds too many large requests", "Try again later", headers=headers)

    def _refuse(self) -> NoReturn:
        most = f"{self.limits.body_bytes:,} bytes"
        raise Refused(413, f"the body is larger than {most}", "Send less at once", headers={"Connection": "close"})


def _json_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body. Raises Refused for anything else."""
    try:
        found = json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refused(
            400, f"the body is not JSON ({first_line(error)})", 'Send an object such as {"rows": []}'
        ) from None
    if not isinstance(found, dict):
        raise Refused(400, f"the body is a JSON {_kind(found)}", 'Send an object such as {"rows": []}')
    return found


def sent_rows(given: dict[str, Any], limits: ServeLimits) -> list[Any]:
    """The rows of a body `{"rows": [...]}`. Raises Refused for another shape, and for more or larger rows than may be
    sent.
    """
    if more := [name for name in given if name != "rows"]:
        raise Refused(400, f"the body has {more[0]!r:.50}", 'Send {"rows": [...]} alone')
    rows = given.get("rows")
    if not isinstance(rows, list):
        raise Refused(400, f"`rows` is a JSON {_kind(rows)}", 'Send {"rows": [...]}: objects by column, or texts')
    if len(rows) > limits.rows:
        raise Refused(413, f"the request has {len(rows):,} rows", f"Send at most {limits.rows:,} a request")
    return rows


def tokens_of_rows(rows: Sequence[Any], limits: ServeLimits) -> list[int]:
    """About how many tokens each row has. Raises Refused for one of too many characters, and of too many levels."""
    return [
        ANSWER_TOKENS + _characters(row, limits, f"row {number}") // CHARACTERS_OF_TOKEN
        for number, row in enumerate(rows, start=1)
    ]


def _characters(row: Any, limits: ServeLimits, name: str) -> int:
    """The characters of all texts in a row, and one for each other value; without recursion."""
    count, left = 0, [(row, 0)]
    while left:
        value, depth = left.pop()
        if depth > DEEPEST:
            raise Refused(400, f"{name} has more than {DEEPEST} levels", "Send texts, numbers and lists of them")
        if isinstance(value, dict):
            left += [(inner, depth + 1) for pair in value.items() for inner in pair]
        elif isinstance(value, list):
            left += [(inner, depth + 1) for inner in value]
        count += len(value) if isinstance(value, str) else 1
    if count > limits.characters:
        raise Refused(413, f"{name} has {count:,} characters", f"Send at most {limits.characters:,} a row")
    return count


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _kind(value: Any) -> str:
    names = {dict: "object", list: "list", str: "text", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")

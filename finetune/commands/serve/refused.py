"""Answers as JSON, and requests that are refused: a status and one line."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from starlette.responses import Response

from finetune.errors import UserError


class Refused(Exception):
    """Why a request has no answer: its HTTP status, what is wrong with it, and how to fix it."""

    def __init__(
        self, status: int, what: str, way_out: str, *, headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.status = status
        self.headers = dict(headers)
        self.line = str(UserError(what, way_out))
        super().__init__(status, self.line)

    def response(self) -> Response:
        """The answer to the request: `{"error": "what is wrong. How to fix it"}`."""
        return json_response({"error": self.line}, status=self.status, headers=self.headers)


def json_response(value: Any, *, status: int = 200, headers: Mapping[str, str] = MappingProxyType({})) -> Response:
    """A value as JSON in UTF-8; a lone surrogate, which UTF-8 lacks, is an escape."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    content = text.encode("utf-8", "backslashreplace")
    return Response(content, status_code=status, headers=dict(headers), media_type="application/json")

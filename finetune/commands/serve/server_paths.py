"""The paths of the server as a whole: the page, what it serves, and what looks after it."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from finetune.commands.serve.about import MOST_EXAMPLES, about_model
from finetune.commands.serve.page.build import served_page
from finetune.commands.serve.refused import Refused, json_response
from finetune.commands.serve.served_models import ServedModels

Endpoint = Callable[[Request], Awaitable[Response]]
SAFE = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


class ServerPaths:
    """The endpoints of all models together; with `examples`, `/about` has rows of dev."""

    def __init__(self, models: ServedModels, *, examples: bool) -> None:
        self.models, self.examples = models, MOST_EXAMPLES if examples else 0
        self._page = served_page()
        self._about: list[dict[str, object]] = []

    def endpoints(self) -> dict[str, Endpoint]:
        """What each path answers to GET."""
        return {
            "/": self.page,
            "/about": self.about,
            "/health": self.health,
            "/ready": self.ready,
        }

    async def page(self, request: Request) -> Response:
        """The page to try the models."""
        return HTMLResponse(self._page.html, headers={**SAFE, "Content-Security-Policy": self._page.policy})

    async def about(self, request: Request) -> Response:
        """What each model reads, its labels, scores and limits; read from its run once."""
        limits, models = self.models.limits, self.models.by_name.values()
        self._about = self._about or [about_model(one, limits, examples=self.examples) for one in models]
        return json_response({"models": self._about})

    async def health(self, request: Request) -> Response:
        """Whether the process answers."""
        return json_response({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """Whether a request would be taken."""
        if not self.models.ready:
            headers = {"Retry-After": "1"}
            raise Refused(503, "the server stops, or its queue is full", "Try again later", headers=headers)
        return json_response({"status": "ready"})

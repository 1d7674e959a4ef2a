"""What `/metrics` counts, in a registry of the server's own."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Meters:
    """Requests with their seconds, rows with and without a prediction, rows computed together, requests that wait."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self._requests = Counter("finetune_requests", "Requests", ["path", "status"], registry=registry)
        self._seconds = Histogram("finetune_request_seconds", "Seconds", ["path"], registry=registry, buckets=SECONDS)
        self._rows = Counter("finetune_rows", "Rows", ["model", "outcome"], registry=registry)
        self._together = Histogram(
            "finetune_rows_together", "Rows computed together", ["model"], registry=registry, buckets=ROWS
        )
        self._waiting = Gauge("finetune_waiting_requests", "Requests that wait", ["model"], registry=registry)

    def request(self, path: str, status: int, seconds: float) -> None:
        """Counts a request."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def rows(self, model: str, *, answered: int, failed: int) -> None:
        """Counts rows of a request."""
        self._rows.labels(model, "answered").inc(answered)
        self._rows.labels(model, "error").inc(failed)

    def together(self, model: str, rows: int) -> None:
        """Counts a batch of requests' rows."""
        self._together.labels(model).observe(rows)

    def watch_waiting(self, model: str, waiting: Callable[[], float]) -> None:
        """Shows how many requests wait for a model, as that function counts them."""
        self._waiting.labels(model).set_function(waiting)

    def text(self) -> bytes:
        """All of it in the form that Prometheus reads."""
        return generate_latest(self.registry)

"""`finetune serve` under 1, 8 and 64 clients, next to one call a request from FastAPI's thread pool.

python benchmarks/serving.py RUN --out results/benchmarks/serving.json                # requests/s, p50 and p99
python benchmarks/serving.py RUN --out results/benchmarks/serving.json --minutes 60   # then memory under load
python benchmarks/serving.py RUN --out results/benchmarks/serving.json --litserve     # next to LitServe, if installed

Each request has one row, of made-up texts. All servers are processes of their own, asked in turns; `--be` is one of
those that ours is compared with. Then HOSTILE requests are sent to ours, each of which must be answered, or refused.
"""

import importlib.util
import json
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import machine
from machine import Parts, options

INSTALLED = importlib.util.find_spec("litserve") is not None
if INSTALLED:
    import litserve

CLIENTS = (1, 8, 64)
SECONDS_TO_GATHER = 0.005  # which LitServe waits for a batch to fill
HOSTILE = 1_000  # requests
WORDS = ("the", "a", "film", "was", "good", "bad", "long", "short", "and", "but", "not", "plot", "music", "end")
VALUES: tuple[Any, ...] = (
    *(None, True, -1, 1e308, 10**40, "", " ", "\ud800", "\0", "a" * 3_000, [], {}, [[]], ["a", "b"]),
    {"text": {"a": []}},
)


@contextmanager
def serving(*command: str) -> Iterator[tuple[int, int]]:
    """A server as a process: its port and its process id."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        address = next(filter(None, (re.search(r"http://[\d.]+:(\d+)", line) for line in process.stdout)))
        port, answers = int(address[1]), False
        while not answers:
            with suppress(OSError):
                answers = bool(asked(port, b"", "GET", "/health"))
            time.sleep(0.1)
        yield port, process.pid
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # LitServe's workers do not end with it
        process.wait()


def asked(
    port: int, body: bytes, method: str = "POST", path: str = "/predict", at: HTTPConnection | None = None
) -> int:
    """The status of a request, by a connection that is kept or a new one."""
    connection = at or HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.read()
    return response.status


def under_load(port: int, clients: int, seconds: float) -> dict[str, Any]:
    """Requests a second, and the median and 99th percentile of their milliseconds."""
    until = time.perf_counter() + seconds

    def client(number: int) -> list[tuple[int, float]]:
        connection, draw, found = HTTPConnection("127.0.0.1", port, timeout=60), random.Random(number), []
        while (began := time.perf_counter()) < until:
            status = asked(port, body_of([" ".join(draw.choices(WORDS, k=draw.randint(3, 40)))]), at=connection)
            found.append((status, 1_000 * (time.perf_counter() - began)))
        return found

    with ThreadPoolExecutor(clients) as threads:
        requests = [request for found in threads.map(client, range(clients)) for request in found]
    percentiles = statistics.quantiles(sorted(milliseconds for _, milliseconds in requests), n=100)
    return {
        "requests_per_second": len(requests) / seconds,
        "p50_ms": percentiles[49],
        "p99_ms": percentiles[98],
        "statuses": Counter(str(status) for status, _ in requests),
    }


def body_of(rows: Sequence[Any]) -> bytes:
    """A request."""
    return json.dumps({"rows": rows}).encode()


def hostile(port: int) -> dict[str, Any]:
    """The statuses of damaged and odd requests; the server must answer a good one after them."""
    draw, statuses = random.Random(0), Counter[str]()
    for _ in range(HOSTILE):
        body = body_of([draw.choice(VALUES) for _ in range(draw.randrange(5))])
        if draw.random() < 0.5:
            body = bytes(draw.choice((byte, 0, 255, 34, 123)) if draw.random() < 0.05 else byte for byte in body)
        path = draw.choice(("/predict", "/explain", "/", "/none"))
        statuses[str(asked(port, body, draw.choice(("POST", "PUT")), path))] += 1
    alive = asked(port, body_of(["a good film"]))
    return {"requests": HOSTILE, "statuses": statuses, "faults": statuses["500"], "answers_after": alive == 200}


def memory(port: int, process: int, minutes: float) -> list[dict[str, float]]:
    """The server's resident memory in MB while 8 clients ask, each minute."""
    found = []
    for minute in range(max(1, round(minutes))):
        rate = under_load(port, 8, min(60.0, 60 * minutes))["requests_per_second"]
        megabytes = machine.memory(process)["VmRSS"] / 1e6
        found.append({"minute": minute + 1, "megabytes": round(megabytes, 1), "requests_per_second": round(rate, 1)})
    return found


def one_call_a_request(run: str) -> None:
    """The server that is compared with: each request is one call of the model, from FastAPI's threads."""
    import uvicorn
    from fastapi import FastAPI

    from finetune.inference.predictor import load_predictor

    predictor, app = load_predictor(run), FastAPI()

    def predict(body: dict[str, Any]) -> dict[str, Any]:
        return {"predictions": predictor.predict(body["rows"])}

    app.post("/predict")(predict)
    app.get("/health")(lambda: {})
    with socket.create_server(("127.0.0.1", 0)) as bound:
        print(f"http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_config=None)).run(sockets=[bound])


class RunBehindLitServe(litserve.LitAPI if INSTALLED else object):  # type: ignore[misc]
    """A run behind LitServe (Lightning AI), whose workers gather requests: the model is asked once a batch."""

    def setup(self, device: str) -> None:
        """Loads the run in the worker."""
        from finetune.inference.predictor import load_predictor

        self.predictor = load_predictor(sys.argv[1])

    def decode_request(self, request: dict[str, Any]) -> Any:
        """The row of a request."""
        return request["rows"][0]

    def batch(self, inputs: list[Any]) -> list[Any]:
        """The rows as they are."""
        return inputs

    def predict(self, rows: list[Any]) -> list[Any]:
        """Predictions of the rows of a batch."""
        return list(self.predictor.predict(rows))

    def unbatch(self, output: list[Any]) -> list[Any]:
        """A prediction a request."""
        return output

    def encode_response(self, output: Any) -> dict[str, Any]:
        """The answer to a request, in the shape of `finetune serve`."""
        return {"predictions": [output]}


def behind_litserve(_: str) -> None:
    """The run behind LitServe, on a free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)
    api = RunBehindLitServe(max_batch_size=max(CLIENTS), batch_timeout=SECONDS_TO_GATHER)
    server = litserve.LitServer(api, accelerator="cpu")
    server.run(host="127.0.0.1", port=port, generate_client_file=False, log_level="error")


def main() -> None:
    """Measures, and writes after each round."""
    others = {"one call a request": one_call_a_request, "LitServe": behind_litserve}
    given = options(__doc__, "run", seconds=20.0, rounds=3, minutes=0.0, litserve=False, be="")
    if given.be:
        others[given.be](given.run)
        return
    ours = (sys.executable, "-m", "finetune", "serve", given.run, "--port", "0", "--quiet")
    servers = {"finetune serve": ours} | {
        name: (sys.executable, __file__, given.run, "--be", name) for name in list(others)[: 1 + given.litserve]
    }
    export = Path(given.run) / "export.json"
    facts = json.loads(export.read_text(encoding="utf-8")) if export.is_file() else {}
    engine = "{engine} {precision}".format(**facts) if facts else "torch"
    parts = Parts(given.out, "requests a second of servers", key="clients", machine=machine.facts(), engine=engine)
    found = parts.read().get("clients", {})
    for _ in range(given.rounds):
        for name, command in servers.items():
            with serving(*command) as (port, _):
                under_load(port, 1, min(2.0, given.seconds))
                for clients in CLIENTS:
                    rounds = found.setdefault(str(clients), {}).setdefault(name, [])
                    rounds.append(under_load(port, clients, given.seconds))
        parts.write(clients=found)
    with serving(*ours) as (port, process):
        parts.write(hostile=hostile(port))
        if given.minutes:
            parts.write(memory=memory(port, process, given.minutes))


if __name__ == "__main__":
    main()

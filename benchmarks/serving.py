"""`finetune serve` under 1, 8 and 64 clients, next to FastAPI around a `pipeline` of transformers.

python benchmarks/serving.py RUN --out results/benchmarks/serving.json                # requests/s, p50 and p99
python benchmarks/serving.py RUN --out results/benchmarks/serving.json --minutes 60   # then memory under load

Each request has one row, of made-up texts. Both servers are processes of their own, asked in turns; `--pipeline` is
the one that ours is compared with. Then HOSTILE requests are sent to ours, each of which must be answered, or refused.
"""

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

CLIENTS = (1, 8, 64)
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
        os.killpg(process.pid, signal.SIGTERM)
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


def around_a_pipeline(run: str) -> None:
    """The server that is compared with: transformers' `pipeline` behind FastAPI, as most examples have it."""
    import uvicorn
    from fastapi import FastAPI
    from transformers import pipeline

    classify, app = pipeline("text-classification", model=str(Path(run) / "model"), top_k=None), FastAPI()

    def predict(body: dict[str, list[str]]) -> dict[str, Any]:
        return {"predictions": classify(body["rows"])}

    app.post("/predict")(predict)
    app.get("/health")(lambda: {})
    with socket.create_server(("127.0.0.1", 0)) as bound:
        print(f"http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_config=None)).run(sockets=[bound])


def main() -> None:
    """Measures, and writes after each round."""
    given = options(__doc__, "run", seconds=20.0, rounds=3, minutes=0.0, pipeline=False)
    if given.pipeline:
        around_a_pipeline(given.run)
        return
    ours = (sys.executable, "-m", "finetune", "serve", given.run, "--port", "0", "--quiet")
    servers = {"finetune serve": ours, "FastAPI and a pipeline": (sys.executable, __file__, given.run, "--pipeline")}
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

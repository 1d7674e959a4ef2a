"""`finetune serve` under 1, 8 and 64 clients, next to one call a request from FastAPI's thread pool.

python benchmarks/serving.py RUN --out results/benchmarks/serving.json                # requests/s, p50 and p99
python benchmarks/serving.py RUN --out results/benchmarks/serving.json --minutes 60   # then memory under load
python benchmarks/serving.py RUN --out results/benchmarks/serving.json --litserve     # next to LitServe too

Each request has one row, of the texts in --texts (a line each), or of made-up ones. All servers are processes of
their own, asked in turns. Then HOSTILE requests are sent to ours, each of which must be answered, or refused.
"""

import argparse
import json
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import machine
from dated import write_json

CLIENTS = (1, 8, 64)
HOSTILE = 1_000  # requests
WORDS = re.findall(r"\w+", "the a film was good bad long short and but not very plot actor scene music end")
JSON = {"Content-Type": "application/json"}
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    1e308,
    10**40,
    "",
    " ",
    "\ud800",
    "\0",
    "a" * 3_000,
    [],
    {},
    [[]],
    ["a", "b"],
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
        found = next(filter(None, (re.search(r"http://[\d.]+:(\d+)", line) for line in process.stdout)))
        wait_for(int(found[1]))
        yield int(found[1]), process.pid
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # LitServe's workers do not end with it
        process.wait()


def engine_of(folder: Path) -> str:
    """`onnx fp32` for an export; empty for a run."""
    path = folder / "export.json"
    if not path.is_file():
        return ""
    facts = json.loads(path.read_text(encoding="utf-8"))
    return f"{facts['engine']} {facts['precision']}"


def wait_for(port: int) -> None:
    """Waits until a server answers."""
    while True:
        try:
            asked(HTTPConnection("127.0.0.1", port), "GET", "/health", b"")
            return
        except OSError:
            time.sleep(0.1)


def asked(connection: HTTPConnection, method: str, path: str, body: bytes) -> int:
    """The status of a request."""
    connection.request(method, path, body, JSON)
    response = connection.getresponse()
    response.read()
    return response.status


def under_load(port: int, clients: int, bodies: Sequence[bytes], seconds: float) -> dict[str, Any]:
    """Requests a second, and the median and 99th percentile of their milliseconds."""
    found, until = list[tuple[int, float]](), time.perf_counter() + seconds

    def client(number: int) -> None:
        connection, draw = HTTPConnection("127.0.0.1", port, timeout=60), random.Random(number)
        while (began := time.perf_counter()) < until:
            status = asked(connection, "POST", "/predict", draw.choice(bodies))
            found.append((status, time.perf_counter() - began))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    times = sorted(1_000 * took for _, took in found)
    percentiles = statistics.quantiles(times, n=100)
    return {
        "requests_per_second": len(found) / seconds,
        "p50_ms": percentiles[49],
        "p99_ms": percentiles[98],
        "statuses": dict(Counter(str(status) for status, _ in found)),
    }


def hostile(port: int, *, seed: int = 0) -> dict[str, Any]:
    """The statuses of damaged and odd requests; the server must answer a good one after them."""
    draw, statuses = random.Random(seed), Counter[str]()
    good = json.dumps({"rows": ["a good film"]}).encode()
    for _ in range(HOSTILE):
        body = json.dumps({"rows": [draw.choice(VALUES) for _ in range(draw.randrange(5))]}).encode()
        if draw.random() < 0.5:
            body = bytes(draw.choice((byte, 0, 255, 34, 123)) if draw.random() < 0.05 else byte for byte in body)
        path = draw.choice(("/predict", "/explain", "/", "/none"))
        status = asked(HTTPConnection("127.0.0.1", port, timeout=60), draw.choice(("POST", "PUT")), path, body)
        statuses[str(status)] += 1
    alive = asked(HTTPConnection("127.0.0.1", port), "POST", "/predict", good)
    return {"requests": HOSTILE, "statuses": dict(statuses), "faults": statuses["500"], "answers_after": alive == 200}


def memory(port: int, process: int, bodies: Sequence[bytes], minutes: float) -> list[dict[str, float]]:
    """The server's resident memory in MB while 8 clients ask, each minute."""
    found = []
    for minute in range(max(1, round(minutes))):
        rate = under_load(port, 8, bodies, min(60.0, 60 * minutes))["requests_per_second"]
        megabytes = machine.memory(process)["VmRSS"] / 1e6
        found.append({"minute": minute + 1, "megabytes": round(megabytes, 1), "requests_per_second": round(rate, 1)})
    return found


def one_call_a_request(run: str) -> None:
    """The server that is compared with: each request is one call of the model, from FastAPI's threads."""
    import uvicorn
    from fastapi import FastAPI

    from finetune.inference.predictor import load_predictor

    predictor = load_predictor(run)
    app = FastAPI()

    def predict(given: dict[str, Any]) -> dict[str, Any]:
        return {"predictions": predictor.predict(given["rows"])}

    app.post("/predict")(predict)
    app.get("/health")(lambda: {})
    with socket.create_server(("127.0.0.1", 0)) as bound:
        print(f"http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_config=None)).run(sockets=[bound])


def bodies_of(texts: Path | None) -> list[bytes]:
    """Requests of one row each."""
    draw = random.Random(0)
    made = (" ".join(draw.choices(WORDS, k=draw.randint(3, 40))) for _ in range(500))
    lines = texts.read_text(encoding="utf-8").splitlines() if texts else made
    return [json.dumps({"rows": [line]}).encode() for line in lines if line.strip()]


def main() -> None:
    """Measures, and writes what was found."""
    given = argparse.ArgumentParser()
    given.add_argument("run")
    given.add_argument("--out", type=Path, required=True)
    given.add_argument("--texts", type=Path)
    given.add_argument("--seconds", type=float, default=20.0)
    given.add_argument("--rounds", type=int, default=3)
    given.add_argument("--minutes", type=float, default=0.0)
    given.add_argument("--litserve", action="store_true", help="compare with LitServe too")
    given.add_argument("--one-call", action="store_true", help="be the server that is compared with")
    options = given.parse_args()
    if options.one_call:
        one_call_a_request(options.run)
        return
    ours = (sys.executable, "-m", "finetune", "serve", options.run, "--port", "0", "--quiet")
    other = (__file__, options.run, "--out", str(options.out), "--one-call")
    measured = {"finetune serve": ours, "one call a request": (sys.executable, *other)}
    if options.litserve:
        measured["LitServe"] = (sys.executable, str(Path(__file__).with_name("litserve_server.py")), options.run)
    bodies = bodies_of(options.texts)
    found: dict[str, Any] = json.loads(options.out.read_text()) if options.out.is_file() else {"clients": {}}
    found |= {"machine": machine.facts(), "engine": engine_of(Path(options.run)) or "torch"}
    for _ in range(options.rounds):
        for name, command in measured.items():
            with serving(*command) as (port, _):
                under_load(port, 1, bodies, min(2.0, options.seconds))
                for clients in CLIENTS:
                    kept = found["clients"].setdefault(str(clients), {}).setdefault(name, [])
                    kept.append(under_load(port, clients, bodies, options.seconds))
    with serving(*ours) as (port, process):
        found["hostile"] = hostile(port)
        if options.minutes:
            found["memory"] = memory(port, process, bodies, options.minutes)
    write_json(options.out, found)


if __name__ == "__main__":
    main()

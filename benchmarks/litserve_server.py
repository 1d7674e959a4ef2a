"""A run behind LitServe (Lightning AI), whose workers gather requests: what `serving.py --litserve` compares with.

python benchmarks/litserve_server.py RUN              # in an environment that has litserve too

LitServe starts its workers as new processes, which import the API's class: so it is in a module of its own.
"""

import argparse
import importlib.util
import socket
import sys
from typing import Any

INSTALLED = importlib.util.find_spec("litserve") is not None
if INSTALLED:
    import litserve

MOST_ROWS = 64  # in a batch, as many as there are clients at most
SECONDS_TO_GATHER = 0.005  # which LitServe waits for a batch to fill


class RunBehindLitServe(litserve.LitAPI if INSTALLED else object):  # type: ignore[misc]
    """A request of one row: the model is asked once a batch."""

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


def main() -> None:
    """Serves the run on a free port of this machine until it is ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.parse_args()
    if not INSTALLED:
        parser.error("litserve is not installed: pip install litserve")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)
    api = RunBehindLitServe(max_batch_size=MOST_ROWS, batch_timeout=SECONDS_TO_GATHER)
    litserve.LitServer(api, accelerator="cpu").run(
        host="127.0.0.1", port=port, generate_client_file=False, log_level="error"
    )


if __name__ == "__main__":
    main()

"""A Hub on this machine to which the client of this process is set, with a token that may write there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hub_server import HubServer

TOKEN, THEIRS = "hf_" + "a" * 34, "hf_" + "b" * 34


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """A Hub on which TOKEN is of `me`, and THEIRS of `them`."""
    from huggingface_hub import close_session, constants

    with HubServer(accounts={TOKEN: "me", THEIRS: "them"}) as server:
        for name, value in {
            "ENDPOINT": server.url,
            "HUGGINGFACE_CO_URL_TEMPLATE": f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}",
            "HF_HUB_OFFLINE": False,
            "HF_HUB_DISABLE_XET": True,
            "HF_HUB_CACHE": str(tmp_path / "hub"),
            "HF_TOKEN_PATH": str(tmp_path / "no-token"),
            "HF_STORED_TOKENS_PATH": str(tmp_path / "no-tokens"),
        }.items():
            monkeypatch.setattr(constants, name, value)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        close_session()
        yield server
    close_session()

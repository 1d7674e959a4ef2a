"""A Hub on this machine to which the client of this process is set, with a token that may write there."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.hub_server import HubServer

TOKEN, THEIRS = "hf_" + "a" * 34, "hf_" + "b" * 34


@dataclass(frozen=True)
class User:
    """Someone in a folder of their own, for whom the Hub is at `url`."""

    folder: Path
    url: str

    def python(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs Python in a process of its own, and waits for it."""
        ours = {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(self.folder / "hf"),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_XET": "1",
            "HF_UPDATE_DOWNLOAD_COUNTS": "0",  # else `datasets` asks a host other than the Hub
            "NO_PROXY": "127.0.0.1",
            "OMP_NUM_THREADS": "1",  # a tiny model on several threads is slow while other processes want the cores
        }
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "FINETUNE_DATA"))}
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=kept | ours | more, capture_output=True, text=True, timeout=600
        )

    def finetune(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return self.python("-m", "finetune", *arguments, **more)


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

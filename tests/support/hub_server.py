"""A Hugging Face Hub on this machine: enough of its HTTP interface for `snapshot_download`, `load_dataset` and
`create_commit`.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import parse_qs, unquote, urlsplit

from support.hub_uploads import Files, Reply, Uploads

Kind = Literal["model", "dataset"]
API = re.compile(
    r"/api/(?P<kind>model|dataset)s/(?P<name>[^/]+/[^/]+)"
    r"(/(?P<part>revision|tree|paths-info)/(?P<revision>[^/]+)(/(?P<path>.+))?)?"
)
RESOLVE = re.compile(r"/((?P<kind>dataset)s/)?(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")


@dataclass(frozen=True)
class Repository:
    """The files of one folder, as a repository with one commit on `main`."""

    files: Mapping[str, bytes]

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Reads a folder with all that is in it."""
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        return cls({file.relative_to(folder).as_posix(): file.read_bytes() for file in files})

    @property
    def commit(self) -> str:
        """40 hex digits that change with the content."""
        return hashlib.sha1(
            "".join(f"{path} {_git_id(self.files[path])}\n" for path in self.files).encode()
        ).hexdigest()

    def entries(self) -> list[dict[str, Any]]:
        """Every file and folder, as the Hub describes them."""
        folders = {parent.as_posix() for path in self.files for parent in Path(path).parents} - {"."}
        return [
            *(
                {"type": "directory", "path": path, "oid": _git_id(path.encode()), "size": 0}
                for path in sorted(folders)
            ),
            *(
                {"type": "file", "path": path, "oid": _git_id(content), "size": len(content)}
                for path, content in self.files.items()
            ),
        ]

    def tree(self, folder: str, *, recursive: bool) -> list[dict[str, Any]] | None:
        """What is in a folder, or also in the folders inside it; None where there is no such folder."""
        inside = [entry for entry in self.entries() if entry["path"].startswith(f"{folder}/" if folder else "")]
        if not inside:
            return None
        return [entry for entry in inside if recursive or Path(entry["path"]).parent == Path(folder)]


class HubServer:
    """Serves folders as repositories in a `with` block: `with HubServer({("model", "me/bert"): folder}) as hub: ...`.

    `url` is what HF_ENDPOINT has to be; `requests` has each request so far, as `GET /me/bert/resolve/main/config.json`.
    `accounts` are the owners of tokens that may write; `uploads` has what they sent.
    """

    def __init__(
        self, folders: Mapping[tuple[Kind, str], Path] | None = None, accounts: Mapping[str, str] | None = None
    ) -> None:
        self.repositories: dict[tuple[str, str], Repository] = {k: Repository.of(v) for k, v in (folders or {}).items()}
        self.requests: list[str] = []
        handler = type("BoundHandler", (Handler,), {"hub": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self.uploads = Uploads(self.url, self._files, self._keep, accounts or {})

    def _files(self, name: str) -> Files | None:
        found = self.repositories.get(("model", name))
        return None if found is None else dict(found.files)

    def _keep(self, name: str, files: Files) -> str:
        self.repositories["model", name] = Repository(files)
        return self.repositories["model", name].commit

    def may_read(self, name: str, token: str) -> bool:
        """Whether a repository is public, or of the token's owner."""
        return name not in self.uploads.private or self.uploads.accounts.get(token) == name.split("/")[0]

    def __enter__(self) -> Self:
        Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()


class Handler(BaseHTTPRequestHandler):
    """Answers one request after the other of one client."""

    hub: HubServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answers GET, HEAD and POST: finds the repository, then what of it is asked for."""
        self.hub.requests.append(f"{self.command} {self.path}")
        url, body = urlsplit(self.path), self._body()
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if (reply := self.hub.uploads.reply(self.command, url.path, body, token)) is not None:
            self._send_reply(reply)
            return
        form = body.decode()
        asked = RESOLVE.fullmatch(url.path) or API.fullmatch(url.path)
        repository = asked and self.hub.repositories.get((asked["kind"] or "model", asked["name"]))
        if not asked or not repository or not self.hub.may_read(asked["name"], token):
            self._refuse("RepoNotFound", "Repository not found")
        elif unquote(asked["revision"] or "main") not in ("main", "refs/convert/parquet", repository.commit):
            self._refuse("RevisionNotFound", "Invalid rev id")
        elif asked.re is RESOLVE:
            self._send_file(repository, unquote(asked["path"]))
        else:
            self._send_facts(repository, asked, parse_qs(form or url.query))

    do_HEAD = do_POST = do_PUT = do_GET

    def _body(self) -> bytes:
        """What was sent, with its length or in chunks."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _send_reply(self, reply: Reply) -> None:
        headers = {"X-Error-Message": reply.error} if reply.error else {}
        self._send(reply.status, json.dumps(reply.body).encode(), {"Content-Type": "application/json", **headers})

    def _send_file(self, repository: Repository, path: str) -> None:
        if path not in repository.files:
            self._refuse("EntryNotFound", "Entry not found", {"X-Repo-Commit": repository.commit})
            return
        content = repository.files[path]
        self._send(200, content, {"X-Repo-Commit": repository.commit, "ETag": f'"{_git_id(content)}"'})

    def _send_facts(self, repository: Repository, asked: re.Match[str], settings: dict[str, list[str]]) -> None:
        facts: Any
        if asked["part"] == "tree":
            recursive = settings.get("recursive", ["false"])[0].lower() == "true"
            facts = repository.tree(unquote(asked["path"] or ""), recursive=recursive)
        elif asked["part"] == "paths-info":
            facts = [entry for entry in repository.entries() if entry["path"] in settings.get("paths", [])]
        else:
            siblings = [{"rfilename": path} for path in repository.files]
            facts = {"id": asked["name"], "sha": repository.commit, "tags": [], "siblings": siblings}
            facts["private"] = asked["name"] in self.hub.uploads.private
        if facts is None:
            self._refuse("EntryNotFound", "Entry not found")
        else:
            self._send(200, json.dumps(facts).encode(), {"Content-Type": "application/json"})

    def _refuse(self, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        self._send(404, b"", {"X-Error-Code": code, "X-Error-Message": message, **(headers or {})})

    def _send(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Writes nothing: `requests` has it."""


def _git_id(content: bytes) -> str:
    """What git calls a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()

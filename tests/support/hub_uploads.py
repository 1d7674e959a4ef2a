"""What a Hub takes: new repositories, large files and commits, from whoever has the token of their owner."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import yaml

LARGE = (".safetensors", ".onnx", ".npz", ".bin", ".data")  # files that are sent apart from the commit
COMMIT = re.compile(r"/api/models/([^/]+/[^/]+)/(preupload|commit)/main")
BATCH = re.compile(r"/([^/]+/[^/]+)\.git/info/lfs/objects/batch")
BLOB = re.compile(r"/lfs/([0-9a-f]{64})")
Files = dict[str, bytes]


@dataclass(frozen=True)
class Reply:
    """A status, and a body as JSON or as the Hub's error."""

    status: HTTPStatus
    body: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


@dataclass
class Uploads:
    """What was created and sent so far. `accounts` are the owners of tokens."""

    url: str
    files_of: Callable[[str], Files | None]
    keep: Callable[[str, Files], str]
    accounts: Mapping[str, str]
    private: set[str] = field(default_factory=set)
    blobs: dict[str, bytes] = field(default_factory=dict)
    commits: list[dict[str, Any]] = field(default_factory=list)

    def reply(self, method: str, path: str, body: bytes, token: str) -> Reply | None:
        """The reply to a request; None to one of another kind."""
        if method == "PUT" and (found := BLOB.fullmatch(path)):
            return self._stored(found[1], body)
        if method != "POST":
            return None
        if path == "/api/validate-yaml":
            return self._validated(json.loads(body)["content"])
        if path == "/api/repos/create":
            return self._created(json.loads(body), token)
        if found := BATCH.fullmatch(path):
            return self._allowed(found[1], token) or self._batch(json.loads(body))
        if found := COMMIT.fullmatch(path):
            done = self._preupload if found[2] == "preupload" else self._committed
            return self._allowed(found[1], token) or done(found[1], body)
        return None

    def _allowed(self, name: str, token: str) -> Reply | None:
        """The refusal of somebody who is not the owner; None for the owner."""
        if token not in self.accounts:
            return Reply(HTTPStatus.UNAUTHORIZED, error="Invalid username or password.")
        if self.accounts[token] != name.split("/")[0]:
            return Reply(HTTPStatus.FORBIDDEN, error=f"You don't have the rights to write to {name}")
        return None

    def _created(self, asked: Mapping[str, Any], token: str) -> Reply:
        name = f"{asked['organization']}/{asked['name']}"
        if (refusal := self._allowed(name, token)) is not None:
            return refusal
        if self.files_of(name) is not None:
            return Reply(
                HTTPStatus.CONFLICT, {"url": f"{self.url}/{name}"}, error="You already created this model repo"
            )
        self.keep(name, {".gitattributes": b"*.safetensors filter=lfs\n"})
        if asked.get("visibility") == "private" or asked.get("private"):
            self.private.add(name)
        return Reply(HTTPStatus.OK, {"url": f"{self.url}/{name}"})

    def _validated(self, card: str) -> Reply:
        """As the Hub checks the head of a card: YAML with a model index whose results have task, data and metrics."""
        _, head, _ = card.split("---\n", 2)
        for model in yaml.safe_load(head).get("model-index", []):
            if not model["name"] or not all(one["task"]["type"] and one["metrics"] for one in model["results"]):
                return Reply(HTTPStatus.BAD_REQUEST, {"errors": [{"message": "model-index is not valid"}]})
        return Reply(HTTPStatus.OK)

    def _preupload(self, _: str, body: bytes) -> Reply:
        files = [
            {"path": one["path"], "uploadMode": "lfs" if one["path"].endswith(LARGE) else "regular",
             "shouldIgnore": False}
            for one in json.loads(body)["files"]
        ]  # fmt: skip
        return Reply(HTTPStatus.OK, {"files": files})

    def _batch(self, asked: Mapping[str, Any]) -> Reply:
        objects = [{**one, "actions": {"upload": {"href": f"{self.url}/lfs/{one['oid']}"}}} for one in asked["objects"]]
        return Reply(HTTPStatus.OK, {"transfer": "basic", "objects": objects})

    def _stored(self, oid: str, content: bytes) -> Reply:
        if hashlib.sha256(content).hexdigest() != oid:
            return Reply(HTTPStatus.BAD_REQUEST, error="another checksum")
        self.blobs[oid] = content
        return Reply(HTTPStatus.OK)

    def _committed(self, name: str, body: bytes) -> Reply:
        files = dict(self.files_of(name) or {})
        lines = [json.loads(line) for line in body.splitlines()]
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.blobs[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        self.commits.append({"name": name, "summary": lines[0]["value"]["summary"], "paths": sorted(files)})
        commit = self.keep(name, files)
        return Reply(HTTPStatus.OK, {"commitUrl": f"{self.url}/{name}/commit/{commit}", "commitOid": commit})

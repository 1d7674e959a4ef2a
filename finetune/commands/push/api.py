"""`finetune.push`: puts a run's model and its card on the Hugging Face Hub, in one commit."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from finetune.analysis.card import model_card
from finetune.api.inputs import model_name
from finetune.api.quiet import plainly
from finetune.api.run import Run
from finetune.data.atomic import require_no_link
from finetune.data.checksums import ABOUT, CHECKSUMS, verify_folder
from finetune.errors import THEIRS, UserError, first_line
from finetune.models.fingerprint import DECISIVE
from finetune.runs.lookup import require_run

NEVER = ("predictions*", "*.parquet", "*.jsonl", "*.csv", "*.tsv", "*.xlsx", "*.log", "*.env", ".*")
TOKEN = re.compile(rb"\bhf_[A-Za-z0-9]{30,}\b")  # of the Hub
TEXTS = (".json", ".txt", ".md")
NAME = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
LOGIN = "Log in with `hf auth login`, or set HF_TOKEN"
AGAIN = "Check the network, the name (OWNER/NAME) and that `hf auth login` was by one who may write, and push again"


@plainly
def push(
    run: Run | str | Path,
    name: str,
    *,
    private: bool = False,
    out: str | Path = "results",
) -> str:
    """Puts a run's model and its card on the Hugging Face Hub, in one commit.

    Example: `finetune.push(run, "me/reviews", private=True)`

    No text of the data is sent. `finetune.load("me/reviews")` answers as the run does.

    Args:
        run: A run, its folder, id or task (the latest run); of several runs the best one.
        name: The repository, OWNER/NAME; it is made unless it is there.
        private: Make it private. An existing public one is refused then.
        out: The folder of the runs that are named.

    Returns:
        The URL of the repository.

    Raises:
        UserError: Without a token of huggingface_hub, for a name of somebody else, for damaged files, and where the
            Hub refuses or cannot be reached.
    """
    upload = prepare_upload(model_name(run), name, out=out)
    return upload.send(private=private, bars=False)


@dataclass(frozen=True, kw_only=True)
class Upload:
    """What is sent to the repository `name`: the card, and files by their paths."""

    token: str
    name: str
    card: str
    files: Mapping[str, Path]

    @property
    def sizes(self) -> dict[str, int]:
        """The bytes of each file, the card first."""
        return {ABOUT: len(self.card.encode())} | {path: file.stat().st_size for path, file in self.files.items()}

    def send(self, *, private: bool, bars: bool) -> str:
        """Makes the repository unless it is there, sends all in one commit, and returns its URL.

        Files of an earlier model that this one lacks, such as weights in another form, are removed by the same commit.
        Raises UserError for whatever the Hub refuses, and where it cannot be reached; the token is not in it.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
        from huggingface_hub.utils.tqdm import disable_progress_bars

        if not bars:
            disable_progress_bars()
        api, name = HfApi(token=self.token, library_name="bert-finetune"), self.name
        try:
            url = api.create_repo(name, private=private or None, exist_ok=True)
            if private and not api.model_info(name).private:
                raise UserError(
                    f"{name}: is a public repository, and `private` was asked for",
                    "Make it private on its page, or choose another name",
                )
            earlier = [path for path in api.list_repo_files(name) if "/" not in path and path not in self.sizes]
            stale = [path for path in earlier if any(fnmatch(path, pattern) for pattern in DECISIVE)]
            added = [CommitOperationAdd(path, file) for path, file in self.files.items()]
            card = CommitOperationAdd(ABOUT, self.card.encode())
            api.create_commit(
                name,
                [card, *added, *map(CommitOperationDelete, stale)],
                commit_message="Model and card of a run of finetune",
            )
        except (UserError, *THEIRS):
            raise
        except Exception as error:  # the client's own, of its HTTP library, or of a name that it does not take
            message = str(getattr(error, "server_message", None) or "") or first_line(error)
            why = (message.strip().splitlines() or [""])[0].replace(self.token, "***")
            raise UserError(f"{name}: was not pushed ({why})", AGAIN) from None
        return str(url)


def prepare_upload(run: str, name: str, *, out: str | Path) -> Upload:
    """What a push would send. Raises UserError as `push` does before it speaks to the Hub.

    A README.md that somebody wrote into the model's folder goes as it is; else the card is made.
    """
    from huggingface_hub import get_token

    if not (token := get_token()):
        raise UserError("there is no token of the Hugging Face Hub on this machine", LOGIN)
    folder = require_run(run, Path(out))
    if not NAME.fullmatch(name):
        raise UserError(f"'{name}' is not a name of a repository", "Name it OWNER/NAME, such as me/reviews")
    files = {file.name: file for file in _saved_files(folder.require_model())}
    own = folder.model / ABOUT
    card = own.read_text(encoding="utf-8") if own.is_file() else model_card(folder, hub_name=name)
    if TOKEN.search(card.encode()):
        raise UserError(f"{ABOUT}: holds a token of the Hub", "Remove it")
    for path, file in files.items():
        if any(fnmatch(file.name, pattern) for pattern in NEVER):
            raise UserError(f"{path}: is not part of a model, and may have texts of the data", f"Remove {file}")
        if file.suffix in TEXTS and TOKEN.search(file.read_bytes()):
            raise UserError(f"{path}: holds a token of the Hub", f"Remove it from {file}")
    return Upload(token=token, name=name, card=card, files=files)


def _saved_files(folder: Path) -> list[Path]:
    """The files that a folder's checksums list, and these: not what somebody has put there since."""
    remedy = "Train the run again with `force`, or export it again"
    verify_folder(folder, remedy=remedy)
    try:
        files = [folder / name for name in (*json.loads((folder / CHECKSUMS).read_bytes()), CHECKSUMS)]
    except OSError as error:
        raise UserError(f"{folder}: lacks {CHECKSUMS}, by which its files are known", remedy) from error
    for file in files:
        require_no_link(file)
    return files

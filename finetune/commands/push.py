"""`finetune push`: puts a run's model and its card on the Hugging Face Hub, in one commit, after a question."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path

from finetune.analysis.card import model_card
from finetune.analysis.table import Part
from finetune.api.calls import plainly
from finetune.api.front import PYTHON, here
from finetune.api.inputs import model_name, which_run
from finetune.api.run import Run
from finetune.data.atomic import require_no_link
from finetune.data.checksums import ABOUT, CHECKSUMS, verify_folder
from finetune.data.messages import size_words, so_many
from finetune.errors import THEIRS, UserError, first_line
from finetune.models.fingerprint import DECISIVE
from finetune.runs.lookup import require_run

NEVER = ("predictions*", "*.parquet", "*.jsonl", "*.csv", "*.tsv", "*.xlsx", "*.log", "*.env", ".*")
TOKEN = re.compile(rb"\bhf_[A-Za-z0-9]{30,}\b")  # of the Hub
TEXTS = (".json", ".txt", ".md")
NAME = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
LOGIN = "Log in with `hf auth login`, or set HF_TOKEN"
AGAIN = "Check the network, the name (OWNER/NAME) and that `hf auth login` was by one who may write, and push again"
REMEDY = "Train the run again with `force`, or export it again"
HEAD_LINES = 40  # of the card, that are shown


@plainly
def push(
    run: Run | str | Path, name: str, *, private: bool = False, yes: bool = False, out: str | Path = "results"
) -> str:
    """Puts a run's model and its card on the Hugging Face Hub, in one commit.

    Example: `finetune.push(run, "me/reviews", private=True)`

    No text of the data is sent. `finetune.load("me/reviews")` answers as the run does. A README.md that somebody wrote
    into the model's folder goes as it is; else the card is made.

    Args:
        run: A run, its folder, id or task (the latest run); of several runs the best one.
        name: The repository, OWNER/NAME; it is made unless it is there.
        private: Make the repository private. An existing public one is refused then.
        yes: Do not ask; a call from Python never does.
        out: The folder of the runs that are named.

    Returns:
        The URL of the repository.

    Raises:
        UserError: Without a token of huggingface_hub, for a name of somebody else, for damaged files, and where the
            Hub refuses or cannot be reached.
    """
    from huggingface_hub import get_token

    if not (token := get_token()):
        raise UserError("there is no token of the Hugging Face Hub on this machine", LOGIN)
    folder = require_run(model_name(run), Path(out))
    if not NAME.fullmatch(name):
        raise UserError(f"'{name}' is not a name of a repository", "Name it OWNER/NAME, such as me/reviews")
    files, our_card = _saved_files(folder.require_model()), folder.model / ABOUT
    card = our_card.read_text(encoding="utf-8") if our_card.is_file() else model_card(folder, hub_name=name)
    if TOKEN.search(card.encode()):
        raise UserError(f"{ABOUT}: holds a token of the Hub", "Remove it")
    lines, sizes = card.splitlines(), {ABOUT: len(card.encode())}
    sizes |= {path: file.stat().st_size for path, file in files.items()}
    width = max(map(len, sizes))
    total = f"{so_many(len(sizes), 'file')}, {size_words(sum(sizes.values()))}, to {name}:"
    listed = [f"  {path:<{width}}  {size_words(size):>12}" for path, size in sizes.items()]
    here().tell(*which_run([model_name(run)], Path(out)))
    here().tell("\n".join([*lines[:HEAD_LINES], *["..."] * (len(lines) > HEAD_LINES), "", total, *listed]))
    if not yes and not here().asks(f"Push to the {'private' if private else 'public'} repository {name}?"):
        raise UserError(f"{name}: nothing was pushed", "Where nobody can be asked, add `yes`")
    return _send(card, files, name, token=token, private=private)


def _saved_files(folder: Path) -> dict[str, Path]:
    """The files that a folder's checksums list, and these, by name: not what somebody has put there since.

    Raises UserError for damaged files, and for what must not go out.
    """
    verify_folder(folder, remedy=REMEDY)
    try:
        names = [*json.loads((folder / CHECKSUMS).read_bytes()), CHECKSUMS]
    except OSError as error:
        raise UserError(f"{folder}: lacks {CHECKSUMS}, by which its files are known", REMEDY) from error
    files = {name: folder / name for name in names}
    for name, file in files.items():
        require_no_link(file)
        if any(fnmatch(file.name, pattern) for pattern in NEVER):
            raise UserError(f"{name}: is not part of a model, and may have texts of the data", f"Remove {file}")
        if file.suffix in TEXTS and TOKEN.search(file.read_bytes()):
            raise UserError(f"{name}: holds a token of the Hub", f"Remove it from {file}")
    return files


def _send(card: str, files: Mapping[str, Path], name: str, *, token: str, private: bool) -> str:
    """Makes the repository unless it is there, sends all in one commit, and returns its URL.

    Files of an earlier model that this one lacks, such as weights in another form, are removed by the same commit.
    Raises UserError for whatever the Hub refuses, and where it cannot be reached; the token is not in it.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if here() is PYTHON or not sys.stderr.isatty():
        disable_progress_bars()
    api = HfApi(token=token, library_name="bert-finetune")
    try:
        url = api.create_repo(name, private=private or None, exist_ok=True)
        if private and not api.model_info(name).private:
            raise UserError(
                f"{name}: is a public repository, and `private` was asked for",
                "Make it private on its page, or choose another name",
            )
        earlier = [path for path in api.list_repo_files(name) if "/" not in path and path not in {ABOUT, *files}]
        stale = [path for path in earlier if any(fnmatch(path, pattern) for pattern in DECISIVE)]
        added = [CommitOperationAdd(ABOUT, card.encode()), *(CommitOperationAdd(*file) for file in files.items())]
        removed = map(CommitOperationDelete, stale)
        api.create_commit(name, [*added, *removed], commit_message="Model and card of a run of finetune")
    except (UserError, *THEIRS):
        raise
    except Exception as error:  # the client's own, of its HTTP library, or of a name that it does not take
        message = str(getattr(error, "server_message", None) or "") or first_line(error)
        why = (message.strip().splitlines() or [""])[0].replace(token, "***")
        raise UserError(f"{name}: was not pushed ({why})", AGAIN) from None
    return str(url)


def as_json(url: str) -> Iterator[Mapping[str, str]]:
    """`url`: of the repository."""
    yield {"url": url}


def shown(url: str) -> Iterator[Part]:
    """The address."""
    yield url

"""The Hub's side of a push: the token, the repository, and one commit; each failure is one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

from finetune.commands.push.outgoing import Outgoing
from finetune.errors import THEIRS, UserError, first_line
from finetune.models.fingerprint import DECISIVE

if TYPE_CHECKING:
    from huggingface_hub import HfApi

LOGIN = "Log in with `hf auth login`, or set HF_TOKEN"
AGAIN = "Check the network, the name (OWNER/NAME) and that `hf auth login` was by one who may write, and push again"


def require_token() -> str:
    """The token that huggingface_hub has. Raises UserError where it has none."""
    from huggingface_hub import get_token

    token = get_token()
    if not token:
        raise UserError("there is no token of the Hugging Face Hub on this machine", LOGIN)
    return token


def send(out: Outgoing, *, token: str, private: bool) -> str:
    """Makes the repository unless it is there, sends all in one commit, and returns its URL.

    Files of an earlier model that this one lacks, such as weights in another form, are removed by the same commit.
    Raises UserError for whatever the Hub refuses, and where it cannot be reached.
    """
    from huggingface_hub import HfApi

    api = HfApi(token=token, library_name="bert-finetune")
    with _told_plainly(out.name, token):
        url = api.create_repo(out.name, private=private or None, exist_ok=True)
        if private and not api.model_info(out.name).private:
            raise UserError(
                f"{out.name}: is a public repository, and `private` was asked for",
                "Make it private on its page, or choose another name",
            )
        api.create_commit(
            out.name, operations=_operations(api, out), commit_message="Model, card and exports of a run of finetune"
        )
    return str(url)


def _operations(api: "HfApi", out: Outgoing) -> list[Any]:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    added = [CommitOperationAdd(path, text.encode()) for path, text in out.texts.items()]
    added += [CommitOperationAdd(path, file) for path, file in out.files.items()]
    there = (path for path in api.list_repo_files(out.name) if "/" not in path and path not in out.sizes)
    stale = [path for path in there if any(fnmatch(path, pattern) for pattern in DECISIVE)]
    return [*added, *(CommitOperationDelete(path) for path in stale)]


@contextmanager
def without_bars() -> Iterator[None]:
    """Silences the client's progress bars; afterwards they are as the program had set them."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    were_off = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if not were_off:
            enable_progress_bars()


@contextmanager
def _told_plainly(name: str, token: str) -> Iterator[None]:
    """Raises what the client raises as a UserError, in which the token is not."""
    try:
        yield
    except (UserError, *THEIRS):
        raise
    except Exception as error:  # the client's own, of its HTTP library, or of a name that it does not take
        said = str(getattr(error, "server_message", None) or "") or first_line(error)
        why = (said.strip().splitlines() or [""])[0].replace(token, "***")
        raise UserError(f"{name}: was not pushed ({why})", AGAIN) from None

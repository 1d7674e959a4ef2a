"""The Hub's side of a push: the token, the repository, and one commit; each failure is one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from finetune.commands.push.outgoing import Outgoing
from finetune.data.checksums import ABOUT
from finetune.errors import THEIRS, UserError, first_line
from finetune.models.fingerprint import DECISIVE

if TYPE_CHECKING:
    from huggingface_hub import HfApi

LOGIN = "Log in with `hf auth login`, or set HF_TOKEN"
OWNER = "Choose a name under your own, OWNER/NAME, and a token that may write"


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

    added = [CommitOperationAdd(ABOUT, out.card.encode())]
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
    from huggingface_hub.errors import HfHubHTTPError

    try:
        yield
    except (UserError, *THEIRS):
        raise
    except Exception as error:
        cause = error.__cause__ if isinstance(error.__cause__, HfHubHTTPError) else error
        why = _why(cause, token)
        if isinstance(cause, HfHubHTTPError):
            raise _refusal(name, cause.response.status_code, why) from None
        if _is_of_the_network(cause):
            raise UserError(
                f"{name}: was not pushed, since the Hub cannot be reached ({why})",
                "Push again with a network, and HF_HUB_OFFLINE unset",
            ) from None
        raise UserError(f"{name}: was not pushed ({why})", "Correct that, and push again") from None


def _is_of_the_network(error: BaseException) -> bool:
    """Whether there was no answer; the client's HTTP library, whose error is a base of its own, differs by version."""
    from huggingface_hub.errors import HfHubHTTPError

    no_answer = (*HfHubHTTPError.__bases__, OSError)
    return isinstance(error, no_answer) or isinstance(error.__cause__, no_answer)


def _refusal(name: str, status: int, why: str) -> UserError:
    if status == HTTPStatus.UNAUTHORIZED:
        return UserError(f"{name}: the Hub does not know the token ({why})", LOGIN)
    if status in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
        return UserError(f"{name}: may not be written with this token ({why})", OWNER)
    return UserError(f"{name}: the Hub refused the commit ({status}: {why})", "Push again, or look at its page")


def _why(error: BaseException, token: str) -> str:
    """What the Hub says of an error, else its first line; without the token."""
    said = str(getattr(error, "server_message", None) or "").strip().splitlines()
    return (said[0] if said else first_line(error)).replace(token, "***")

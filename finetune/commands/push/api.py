"""`finetune.push`: puts a run's model on the Hugging Face Hub."""

from collections.abc import Sequence
from pathlib import Path

from finetune.api.inputs import model_name
from finetune.api.quiet import plainly
from finetune.api.run import Run
from finetune.commands.push.hub import require_token, send, without_bars
from finetune.commands.push.outgoing import Outgoing, outgoing
from finetune.runs.lookup import require_run


@plainly
def push(
    run: Run | str | Path,
    name: str,
    *,
    private: bool = False,
    exports: Sequence[str | Path] = (),
    with_examples: bool = False,
    out: str | Path = "results",
) -> str:
    """Puts a run's model, its card and exports on the Hugging Face Hub, in one commit.

    Example: `finetune.push(run, "me/reviews", private=True)`

    No text of the data is sent, unless it is asked for. `finetune.load("me/reviews")` answers as the run does.

    Args:
        run: A run, its folder, id or task (the latest run); of several runs the best one.
        name: The repository, OWNER/NAME; it is made unless it is there.
        private: Make it private. An existing public one is refused then.
        exports: Folders of exports of the run, which become folders of the repository.
        with_examples: Show a few rows of the data in the card.
        out: The folder of the runs that are named.

    Returns:
        The URL of the repository.

    Raises:
        UserError: Without a token of huggingface_hub, for a name of somebody else, for damaged files, and where the
            Hub refuses or cannot be reached.
    """
    token = require_token()
    found = prepared(model_name(run), name, exports=exports, with_examples=with_examples, out=out)
    with without_bars():
        return send(found, token=token, private=private)


def prepared(run: str, name: str, *, exports: Sequence[str | Path], with_examples: bool, out: str | Path) -> Outgoing:
    """What a push would send. Raises UserError as `push` does before it speaks to the Hub."""
    folder = require_run(run, Path(out))
    return outgoing(folder, name, exports=[Path(one) for one in exports], with_examples=with_examples)

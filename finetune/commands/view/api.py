"""`finetune.view`: a page that shows the inside of an encoder."""

from collections.abc import Sequence
from pathlib import Path

from finetune.analysis.pages.templates import write_page
from finetune.api.inputs import model_name
from finetune.api.model import Model
from finetune.api.progress import show_page
from finetune.api.quiet import plainly, quiet
from finetune.api.run import Run
from finetune.commands.view.page import render_view
from finetune.data.outputs import PAGE, require_replaceable_output


@plainly
def view(
    model: Run | Model | str | Path,
    text: str | None = None,
    second: str | None = None,
    *,
    word: str | None = None,
    sentences: str | Path | Sequence[str] | None = None,
    path: str | Path = "view.html",
    out: str | Path = "results",
    force: bool = False,
) -> Path:
    """Writes a page that shows the inside of an encoder, and in a notebook shows it.

    Example: `finetune.view("minilm", "I sat by the bank.", word="bank")`

    Args:
        model: A Hub name, a folder or `minilm`; or a run or its model, whose encoder is shown.
        text: A sentence; default: a pair of ours.
        second: A second sentence, for a pair.
        word: The word whose vectors are shown in many sentences; default: bank, or a word of the text.
        sentences: Sentences with the word, or their file: each is a sentence, or a meaning, a tab and a sentence.
        path: The file to write.
        out: The folder of the runs that are named.
        force: Replace a file that we did not write.

    Returns:
        The path of the file.

    Raises:
        UserError: Without the extra `report`, for an unknown model, a text that is too long, and too few sentences.
    """
    file = Path(path)
    reads = [str(model), *([sentences] if isinstance(sentences, str | Path) else [])]
    require_replaceable_output(file, endings=PAGE, reads=reads, force=force)
    with quiet():
        from finetune.commands.view.encoder import loaded_encoder
        from finetune.commands.view.look import EXAMPLE, look
        from finetune.commands.view.word_vectors import sentences_of, word_of

        typed = [one for one in (text, second) if one is not None]
        chosen = word_of(typed) if word is None else word
        found = sentences_of(chosen, sentences, typed)
        encoder = loaded_encoder(model_name(model), out=Path(out))
        write_page(render_view(look(encoder, typed or EXAMPLE, chosen, found)), file)
    show_page(file)
    return file

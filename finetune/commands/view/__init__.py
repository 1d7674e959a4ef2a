"""`finetune view`: a page that shows the inside of an encoder."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from finetune.analysis.pages.templates import write_page
from finetune.analysis.table import Part
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import model_name, which_run
from finetune.api.model import Model
from finetune.api.parameters import Cli
from finetune.api.progress import show_page
from finetune.api.run import Run
from finetune.commands.view.page import render_view, require_language
from finetune.data.atomic import PAGE, require_replaceable_output
from finetune.data.messages import size_words


@plainly
def view(
    model: Run | Model | str | Path,
    text: str | None = None,
    second: str | None = None,
    *,
    word: str | None = None,
    sentences: Annotated[
        str | Path | Sequence[str] | None,
        Cli(help="A file of sentences with the word, or of MEANING<tab>SENTENCE."),
    ] = None,
    lang: str | None = None,
    path: Annotated[str | Path, Cli(names=("-o", "--output"))] = "view.html",
    force: bool = False,
    out: str | Path = "results",
) -> Path:
    """Writes a page that shows the inside of an encoder, and in a notebook shows it.

    Example: `finetune.view("minilm", "I sat by the bank.", word="bank")`

    Args:
        model: A Hub name, a folder or `minilm`; or a run or its model, whose encoder is shown.
        text: A sentence; default: a pair of ours.
        second: A second sentence, for a pair.
        word: The word whose vectors are shown in many sentences; default: bank, or a word of the text.
        sentences: Sentences with the word, or their file: each is a sentence, or a meaning, a tab and a sentence.
        lang: The language in which the page opens, `en` or `ko`; default: that of the browser.
        path: The HTML file to write.
        force: Replace a file that this command did not write.
        out: The folder of the runs that are named.

    Returns:
        The path of the file.

    Raises:
        UserError: Without the extra `report`, for an unknown model, a text that is too long, and too few sentences.
    """
    file, name = Path(path), model_name(model)
    require_language(lang)
    reads = [str(model), *([sentences] if isinstance(sentences, str | Path) else [])]
    require_replaceable_output(file, endings=PAGE, reads=reads, force=force)
    here().tell(*which_run([name], Path(out)))
    with here().working(f"view: loading the model {name}"):
        from finetune.commands.view.encoder import loaded_encoder
        from finetune.commands.view.look import EXAMPLE, look
        from finetune.commands.view.word_vectors import sentences_of, word_of

        texts = [typed for typed in (text, second) if typed is not None]
        chosen = word_of(texts) if word is None else word
        marked = sentences_of(chosen, sentences, texts)
        inside = look(loaded_encoder(name, out=Path(out)), texts or EXAMPLE, chosen, marked)
        write_page(render_view(inside, language=lang), file)
    show_page(file)
    return file


def shown(file: Path) -> Iterator[Part]:
    """The page's size."""
    yield f"{file}: {size_words(file.stat().st_size)}"

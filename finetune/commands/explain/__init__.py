"""`finetune explain`: what each word adds to a prediction, as signed bars or a page."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from shutil import get_terminal_size
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any
from unicodedata import combining, east_asian_width

from finetune.analysis.pages.templates import templates_of, write_page
from finetune.analysis.table import Line, NoteLine, Part
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import in_memory, is_path, model_name
from finetune.api.model import Explanations, Model, loaded
from finetune.api.parameters import Cli, OutputFile
from finetune.data.atomic import PAGE, require_replaceable_output
from finetune.data.messages import noun
from finetune.data.reading import records
from finetune.errors import UserError
from finetune.inference.answer_rows import rows_of_records
from finetune.inference.explanation import ExplainedRow, Explanation, WordPart, signed, text_pieces
from finetune.inference.predict_plan import columns_read, known_type
from finetune.runs.folder import read_lines
from finetune.runs.lookup import named_run
from finetune.runs.record_files import load_record
from finetune.task_types.explained import Asked
from finetune.task_types.predictions import row_of_line

if TYPE_CHECKING:
    from finetune.data.rows import Row
    from finetune.inference.predictor import Predictor

MOST_ROWS = 20  # of data
IDS_SHOWN = 3
WORD, BAR = 24, 19  # columns of a word, and of the longest bar on either side, if there are as many
OTHERS = 14  # columns of a line that are no word and no bar
PIPED_WIDTH = 300  # columns
MOST_WORDS = 40  # words that are shown of a prediction


@plainly
def explain(
    model: Any,
    *texts: str,
    row: str | None = None,
    split: str | None = None,
    rows: Annotated[Any, Cli(help=f"A data file, of which the first {MOST_ROWS} rows.")] = None,
    label: str | None = None,
    word: str | None = None,
    path: OutputFile = None,
    force: bool = False,
    task: str | None = None,
    out: str | Path = "results",
    device: str | None = None,
) -> Explanations:
    """What each word adds to a prediction, by integrated gradients; the parts add up to the logits within 5 %.

    Example: `finetune.explain(run, "a good film").frame`

    Args:
        model: A run (folder, id, or its task), or any fine-tuned checkpoint.
        *texts: A text, or two; question and context; context and choices.
        row: The id of a row that the run predicted, in place of texts.
        split: The split of `row`; default: the task's first dev split.
        rows: A data file, or rows in memory, of which the first 20 are explained.
        label: Explain this label, tag, answer or choice instead.
        word: Explain the tag of this word, not those of entities.
        path: Write an HTML page.
        force: Replace a file that this command did not write.
        task: The model's task, if it is in a file (FILE.py:NAME) or was not saved.
        out: The folder of runs.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.

    Returns:
        The rows with their words, as `model.explain` gives them.

    Raises:
        UserError: Without the extra `explain`; for an empty or very long text, and an unknown label, word or row.
    """
    name = model_name(model)
    _require_rows(texts, row, rows)
    if path is not None:
        require_replaceable_output(Path(path), endings=PAGE, reads=[name, rows], force=force)
    with here().working(f"loading the model {name}") as watch:
        from finetune.inference.explanation import require_captum

        require_captum()
        opened = model if isinstance(model, Model) else loaded(name, task=task, out=out, device=device, watch=watch)
        explained = opened.explain(*texts, row=row, split=split, rows=rows, label=label, word=word)
    return explained if path is None else replace(explained, path=explained.write(path, force=force))


def _require_rows(texts: Sequence[str], row: str | None, rows: Any) -> None:
    if sum(value is not None for value in (texts or None, row, rows)) != 1:
        raise UserError("give one of a text, `row` and `rows`", "Leave the others out")


def explained_rows(
    predictor: "Predictor", run: str, texts: Sequence[str], *, row: str | None, split: str | None, rows: Any,
    asked: Asked,
) -> tuple[list[ExplainedRow], list[str]]:  # fmt: skip
    """The rows with what their words add, and notes; of `rows` the first MOST_ROWS. Needs torch.

    `run` is the folder of the run whose predictions `row` is looked up in. Raises UserError as `explain` does.
    """
    from finetune.inference.explain import explain_row
    from finetune.inference.explanation import require_captum

    _require_rows(texts, row, rows)
    require_captum()
    notes = list[str]()
    if row is not None:
        chosen = [_row_of_run(predictor, run, str(row), split)]
    elif rows is None:
        if any(not text.strip() for text in texts):
            raise UserError("the text is empty", "Give it at least one word")
        chosen = [predictor.row(predictor.python_rows.arranged(tuple(texts)))]
    else:
        with ExitStack() as stack:
            if not is_path(rows):
                rows = stack.enter_context(in_memory(rows, Path(stack.enter_context(TemporaryDirectory()))))
            chosen, notes = _first_rows(predictor, Path(rows))
    return [explain_row(predictor, chosen_row, asked) for chosen_row in chosen], notes


def _row_of_run(predictor: "Predictor", run: str, name: str, split: str | None) -> "Row":
    """A predicted row of a run, by its id. Raises UserError for an unknown id."""
    folder = named_run(run, Path())
    if folder is None:
        raise UserError(f"{run} is not a run: it has no rows of dev", "Give a text, or a file with `rows`")
    split = split or load_record(folder.record_file).first_split
    lines = read_lines(folder, split)
    line = next((line for line in lines if str(line["id"]) == name), None)
    if line is None:
        ids = ", ".join(str(line["id"]) for line in lines[:IDS_SHOWN])
        what = f"the split '{split}' of {folder.path} has no row '{name}'"
        raise UserError(what, f"Its ids are {ids} ...; `finetune report` shows them")
    return row_of_line(predictor.task, line, folder.path)


def _first_rows(predictor: "Predictor", file: Path) -> tuple[list["Row"], list[str]]:
    """The first rows of a data file, and notes on its columns and on rows that cannot be read.

    Raises UserError for a file without a row that can be read.
    """
    task = predictor.task
    read = columns_read(file, known_type(task), predictor.layout, {}, inputs=task.inputs)
    first = rows_of_records(task, ((record, read.layout) for record in islice(records(file, read.form), MOST_ROWS)))
    rows = [row.row for row in first if row.row is not None]
    if not rows:
        raise UserError(f"{file}: has no row that can be explained", "Check it with `finetune check`")
    return rows, [*read.notes, *(f"row {row.record.row} {row.error}" for row in first if row.error)]


def write_explanation_page(rows: Sequence[ExplainedRow], file: Path, *, model: str, force: bool) -> None:
    """Writes an HTML page. Raises UserError without jinja2, and if it cannot be written."""
    require_replaceable_output(file, endings=PAGE, force=force)
    template = templates_of("finetune.commands.explain").get_template("page.html.j2")
    write_page(template.render(rows=rows, model=model, pieces=text_pieces, signed=signed), file)


def as_json(explained: Explanations) -> Iterator[Mapping[str, Any]]:
    """A row a line: `prediction`, `confidence`, `explanations`: `label`, `words`: `word`, `start`, `end`, `added`."""
    yield from (row.facts() for row in explained.rows)


def shown(explained: Explanations) -> Iterator[Part]:
    """The page that was written, or each row's prediction with a signed bar for each word."""
    if explained.path is not None:
        yield f"{explained.path}: {explained.path.stat().st_size / 1e6:.2f} MB"
    else:
        width = get_terminal_size((PIPED_WIDTH, 0)).columns
        for number, row in enumerate(explained.rows):
            yield from [Line("")] * bool(number)
            yield from explained_lines(row, width)
    yield from (NoteLine(note, aside=True) for note in explained.notes)


def explained_lines(row: ExplainedRow, width: int) -> Iterator[Line]:
    """The prediction first, then each explanation, with bars that fit a width in columns."""
    name = f"row {row.id}: " if row.id else ""
    sure = "" if row.confidence is None else f"  (confidence {100 * row.confidence:.1f} %)"
    gold = f"; its label is {'the same' if row.gold == row.prediction else row.gold}" if row.gold else ""
    yield _bold(f"{name}prediction {row.prediction}", f"{sure}{gold}")
    if row.note:
        yield Line(f"note: {row.note}")
    for explanation in row.explanations:
        yield Line("")
        yield from _explanation_lines(explanation, width - OTHERS)
    if not row.explanations:
        yield Line("nothing to explain: no entity is predicted; --word WORD explains the tag of a word")


def _bold(begins: str, ends: str) -> Line:
    return Line(begins + ends, style="bold", styled=len(begins))


def _explanation_lines(explanation: Explanation, room: int) -> Iterator[Line]:
    """A bar for each of the words that add or take most, in the order of the text, and sums."""
    sure = "" if explanation.confidence is None else f" ({100 * explanation.confidence:.1f} %)"
    yield _bold(f"what the words add to {explanation.label}", sure)
    words = explanation.words
    order = sorted(range(len(words)), key=lambda index: -abs(words[index].added))[:MOST_WORDS]
    strongest = [words[index] for index in sorted(order) if signed(words[index].added) != signed(0)]
    several, before = len({word.text_name for word in words}) > 1, ""
    for word in strongest:
        if several and word.text_name != before:
            yield Line(f"{word.text_name}:", style="dim")
        before = word.text_name
        yield _bar(word, word.added / explanation.full, room)
    if rest := len(words) - len(strongest):
        others = explanation.added - sum(word.added for word in strongest)
        more, together = " more" * bool(strongest), " together" * (rest > 1)
        yield Line(f"  {rest}{more} {noun(rest, 'word adds', 'words add')} {signed(others)}{together}")
    way = f"from {signed(explanation.masked)} with all words masked to {signed(explanation.value)}"
    yield Line(f"sum {signed(explanation.added)} of {signed(explanation.difference)}: {way}")
    if explanation.without_words:
        yield Line(explanation.without_words)
    doubt = "" if explanation.adds_up else ", more than the 5 % allowed: do not rely on these parts"
    yield Line(f"{100 * explanation.gap:.1f} % apart after {explanation.steps} steps{doubt}")


def _bar(word: WordPart, share: float, room: int) -> Line:
    bar = min(BAR, max(1, room // 3))
    most = max(4, min(WORD, room - 2 * bar))
    name = _cut(word.word, most)
    if name != word.word:
        name = f"{_cut(word.word, most - 3)}..."
    signs = ("-" if share < 0 else "+") * round(bar * abs(share))
    sides = f"{signs:>{bar}}|" if share < 0 else f"{'':{bar}}|{signs}"
    text = f"  {name}{' ' * (most - _columns(name))} {signed(word.added):>8}  {sides}"
    return Line(text, style="red" if share < 0 else "green")


def _columns(text: str) -> int:
    return sum(0 if combining(letter) else 1 + (east_asian_width(letter) in "WF") for letter in text)


def _cut(text: str, columns: int) -> str:
    while _columns(text) > columns:
        text = text[:-1]
    return text

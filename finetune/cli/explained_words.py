"""An explained row in lines of 80 columns: the prediction, and the words with signed bars."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from finetune.cli.table_lines import wrapped
from finetune.cli.terminal import one_line
from finetune.inference.explain.explanation import ExplainedRow, Explanation, WordPart

WORD, BAR = 24, 19  # columns of a word, and of the longest bar on either side
WIDTH = 80  # columns of a sentence
MOST = 40  # words that are shown of a prediction
MINUS, PLUS = "red", "green"


def explained_lines(row: ExplainedRow) -> Iterator[Text]:
    """The prediction first, then each explanation."""
    yield _prediction(row)
    if row.note:
        yield Text(f"note: {row.note}")
    for one in row.explanations:
        yield Text()
        yield from _explanation(one)
    if not row.explanations:
        yield Text("nothing to explain: no entity is predicted; --word WORD explains the tag of a word")


def _prediction(row: ExplainedRow) -> Text:
    sure = "" if row.confidence is None else f"  (confidence {100 * row.confidence:.1f} %)"
    name = f"row {one_line(row.id)}: " if row.id else ""
    gold = f"; its label is {'the same' if row.gold == row.prediction else one_line(row.gold)}" if row.gold else ""
    return Text.assemble(name, "prediction ", (one_line(row.prediction), "bold"), sure, gold)


def _explanation(one: Explanation) -> Iterator[Text]:
    sure = "" if one.confidence is None else f" ({100 * one.confidence:.1f} %)"
    yield Text.assemble("what the words add to ", (one_line(one.label), "bold"), sure)
    shown = _strongest(one.words)
    longest = max((abs(word.added) for word in shown), default=1.0) or 1.0
    several = len({word.text_name for word in one.words}) > 1
    before = ""
    for word in shown:
        if several and word.text_name != before:
            yield Text(f"{word.text_name}:", style="dim")
        before = word.text_name
        yield _bar(word, longest)
    if rest := len(one.words) - len(shown):
        others = one.added - sum(word.added for word in shown)
        yield Text(f"  {rest} more words add {others:+.3f} together")
    yield from map(Text, _sums(one))


def _strongest(words: Sequence[WordPart]) -> list[WordPart]:
    """The words that add or take most, in the order of the text."""
    order = sorted(range(len(words)), key=lambda index: -abs(words[index].added))[:MOST]
    return [words[index] for index in sorted(order)]


def _bar(word: WordPart, longest: float) -> Text:
    name = one_line(word.word)
    if cell_len(name) > WORD:
        name = f"{set_cell_size(name, WORD - 3).rstrip()}..."
    size = round(BAR * abs(word.added) / longest)
    minus, plus = (size, 0) if word.added < 0 else (0, size)
    return Text.assemble(
        f"  {set_cell_size(name, WORD)} {word.added:+8.3f}  {' ' * (BAR - minus)}",
        ("-" * minus, MINUS),
        "|",
        ("+" * plus, PLUS),
    )


def _sums(one: Explanation) -> Iterator[str]:
    way = f"from {one.masked:+.3f} with all words masked to {one.value:+.3f}"
    yield f"sum {one.added:+.3f} of {one.difference:+.3f}: {way}"
    yield from wrapped(one.without_words, WIDTH) if one.without_words else ()
    apart = f"{100 * one.gap:.1f} % apart after {one.steps} steps"
    if not one.adds_up:
        apart += ", more than the 5 % allowed: do not rely on these parts"
    if one.agreement is not None:
        apart += f"; ranks agree with occlusion: {one.agreement:+.2f}"
    yield apart

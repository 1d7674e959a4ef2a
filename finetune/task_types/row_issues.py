"""The declared reasons why a record that can be read makes no row of a task."""

from finetune.data.issues import Issue


def _unusable(code: str, meaning: str, remedy: str) -> Issue:
    return Issue(
        code=code,
        severity="warning",
        worst="error",
        meaning=f"rows that cannot be used: {meaning}",
        remedy=f"{remedy}; such rows are left out",
    )


MISSING_TEXT = _unusable("missing-text", "a text is empty", "Fill them in, or drop them with `--fix`")
NO_NUMBER = _unusable("no-number", "the label of a regression is not a number", "Correct the number")
NO_MARK = _unusable("no-mark", "a column of 0 and 1 holds something else", "Write 0 or 1")
EMPTY_WORD = _unusable("empty-word", "one of the words is empty", "Remove the word and its tag")
WORDS_TAGS = _unusable("words-tags", "more or fewer tags than words", "Give every word one tag")
NO_TAG = _unusable("no-tag", "a tag of no known scheme", "Correct the tag")
LABEL_RANGE = _unusable(
    "label-range",
    "the label is not one of the choices",
    "Labels are the number, the letter or the text of a choice",
)
FEW_CHOICES = _unusable("few-choices", "fewer than two choices, or an empty one", "Give each row at least two choices")
UNUSABLE = _unusable("unusable", "any other reason", "Correct them")
ROW_ISSUES = (
    MISSING_TEXT,
    NO_NUMBER,
    NO_MARK,
    EMPTY_WORD,
    WORDS_TAGS,
    NO_TAG,
    LABEL_RANGE,
    FEW_CHOICES,
    UNUSABLE,
)

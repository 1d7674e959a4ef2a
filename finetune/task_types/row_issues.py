"""Why a record that can be read makes no row: what several types share, and how a type declares its own."""

from finetune.data.issues import Finding, Issue


def unusable(code: str, meaning: str, remedy: str) -> Issue:
    """An issue of rows that are left out."""
    meaning, remedy = f"rows that cannot be used: {meaning}", f"{remedy}; such rows are left out"
    return Issue(code, "warning", meaning, remedy, worst="error")


MISSING_TEXT = unusable("missing-text", "a text is empty", "Fill them in, or drop them with `fix`")
NO_NUMBER = unusable("no-number", "the label of a regression is not a number", "Correct the number")
EMPTY_WORD = unusable("empty-word", "one of the words is empty", "Take the word and its tag out")
UNUSABLE = unusable("unusable", "any other reason", "Correct them")
SHARED = (MISSING_TEXT, NO_NUMBER, EMPTY_WORD, UNUSABLE)


class NoRow(Exception):
    """Why a record makes no row, in words that follow `row 5`; `fault` has the issue too."""

    def __init__(self, what: str, issue: Issue = UNUSABLE) -> None:
        super().__init__(what)
        self.fault = Finding(issue, what)

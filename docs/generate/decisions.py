"""The list of decisions, from the pages of docs/decisions/: their titles, by what they are about, the oldest first."""

from itertools import groupby
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "decisions"


def decisions() -> str:
    """A heading for each subject, and a line with date and title for each page."""
    pages = sorted(map(_page, FOLDER.glob("20*.md")))
    return "\n\n".join(
        "\n".join([f"## {about}", "", *(f"- {date}: [{title}]({name})" for _, date, name, title in group)])
        for about, group in groupby(pages, key=lambda page: page[0])
    )


def _page(file: Path) -> tuple[str, str, str, str]:
    """(what it is about, date, name, title): the first line is the title, the third `*about, date*`."""
    title, _, about, *_ = file.read_text(encoding="utf-8").splitlines()
    subject, _, date = about.strip("*").rpartition(", ")
    if not file.name.startswith(f"{date}-") or not title.startswith("# "):
        raise ValueError(f"{file}: needs `# title` and, in its third line, `*subject, date*` with the date of its name")
    return subject, date, file.name, title.removeprefix("# ")

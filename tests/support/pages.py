"""The pages of the documents, their code blocks, the files that they tell the reader to save, and their commands."""

import re
from pathlib import Path

from support.paths import ROOT

README, CONTRIBUTING, CHANGELOG = ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"
README_KO = README.with_suffix(".ko.md")
DOCS = ROOT / "docs"
KOREAN = DOCS / "ko"
OWN_DATA, OWN_DATA_KO = (folder / "tutorials" / "your-data.md" for folder in (DOCS, KOREAN))
OWN_TASK, OWN_TASK_KO = (folder / "tutorials" / "own-task.md" for folder in (DOCS, KOREAN))
SERVE, SERVE_KO = (folder / "how-to" / "serve.md" for folder in (DOCS, KOREAN))  # which a server waits in
SITE = sorted(DOCS.rglob("*.md"))
DOCUMENTS = [  # docs/test_your_own_task.py runs all of the pages on custom tasks
    *(README, CONTRIBUTING, README_KO),
    *(page for page in SITE if page not in (OWN_TASK, OWN_TASK_KO)),
]
SAME = {  # folder: pages
    "tutorials": ("dialect",),
    "explanation": ("heads", "how-bert-reads", "significance"),
    "how-to": (
        *("cheat-sheet", "embeddings", "fine-tuning", "from-trainer", "korean", "labels", "many-runs", "other-tasks"),
        *("paper-tables", "publish", "search", "serve", "troubleshooting"),
    ),
}
SAME_COMMANDS = {  # Korean pages that have the commands of the English page, and no code that it lacks
    README_KO: README,
    **{KOREAN / one / f"{name}.md": DOCS / one / f"{name}.md" for one, names in SAME.items() for name in names},
}
SAVED = r"(?:as\s`(?P<name>[\w./-]+)`|`(?P<name_ko>[\w./-]+)`로\s저장)[^`]*?:\n\n```\w+\n(?P<content>.*?)```"


def page_name(page: Path) -> str:
    """A page as tests name it."""
    return page.relative_to(ROOT).as_posix()


def blocks(language: str, *documents: Path) -> list[str]:
    """All code blocks of a language."""
    texts = [document.read_text(encoding="utf-8") for document in documents]
    return [block for text in texts for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


def commands(*documents: Path) -> list[str]:
    """Every shell command once, without its comment."""
    lines = [line.split("  #")[0].strip() for block in blocks("bash", *documents) for line in block.splitlines()]
    return list(dict.fromkeys(line for line in lines if line))


def saved_files(document: Path) -> dict[str, str]:
    """The files that a page shows after "save this as `name`:", by name."""
    found = re.finditer(SAVED, document.read_text(encoding="utf-8"), re.DOTALL)
    return {file["name"] or file["name_ko"]: file["content"] for file in found}


def save_files(document: Path, folder: Path) -> None:
    """Does what the page says."""
    for name, content in saved_files(document).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")

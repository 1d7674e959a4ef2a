"""`python -m tests.oracle`: writes the table into both pages on results, and lists what is wrong."""

import re
import tempfile
from pathlib import Path

from .every import markdown
from .folders import layouts
from .layout import CLASSES, outcome

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [folder / "explanation" / "results.md" for folder in (DOCS, DOCS / "ko")]


def main() -> None:
    """Runs every layout once."""
    outcomes = []
    for number, layout in enumerate(layouts()):
        with tempfile.TemporaryDirectory(prefix=f"oracle-{number}-") as folder:
            outcomes.append((layout, outcome(layout, Path(folder))))
    for layout, result in outcomes:
        if result.verdict != "right":
            print(f"{result.verdict}: {CLASSES[layout.kind]}: {layout.name} ({layout.language}): {result.seen}")
    for page in PAGES:
        _put(page, markdown(outcomes))
    print(markdown(outcomes))


def _put(path: Path, table: str) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(
        re.sub(r"(<!-- oracle -->\n).*?(<!-- /oracle -->)", rf"\1{table}\n\2", text, flags=re.DOTALL), encoding="utf-8"
    )


if __name__ == "__main__":
    main()

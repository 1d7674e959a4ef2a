"""Fills the generated blocks of the documents: `python docs/generate/pages.py --write`, which draws the charts too.

A page holds a block between `<!-- name -->` and `<!-- /name -->`, on lines of its own or within a line (a line that
begins with one would be HTML). Without `--write` the blocks are printed.
"""

import re
import sys
import tomllib
from functools import cache

import counted
import encoder_heads
import measured
import records
import reference
from charts import growth_chart, heads_charts
from tables import FOLDER, RESULTS, TABLES, RowsFunction, read, table

from finetune.runs.record_files import all_records

DOCS = FOLDER.parent
CHARTS = {"en": DOCS / "explanation", "ko": DOCS / "ko" / "explanation"}
FUNCTIONS: dict[str, RowsFunction] = measured.FUNCTIONS | records.FUNCTIONS
BLOCK = re.compile(r"(<!-- ([\w-]+) -->(\n?)).*?(<!-- /\2 -->)", re.DOTALL)


@cache
def blocks() -> dict[str, str]:
    """Every generated block, by marker."""
    runs = all_records(RESULTS)
    return {
        **reference.blocks(),
        "counted": counted.counted(),
        **{
            name: table(name, *(map(read, declared["files"]) if "files" in declared else [runs]), functions=FUNCTIONS)
            for name, declared in TABLES.items()
        },
        **encoder_heads.heads_facts(read("heads")),
        **records.demo(runs),
        **records.glue_tables(runs),
    }


def filled(text: str) -> str:
    """A document with every block generated again."""
    return BLOCK.sub(_filled, text)


def _filled(block: re.Match[str]) -> str:
    begin, name, line, end = block.groups()
    return f"{begin}{blocks()[name]}{line}{end}" if name in blocks() else block[0]


def write() -> None:
    """Writes all blocks and charts."""
    words = tomllib.loads((FOLDER / "words.toml").read_text(encoding="utf-8"))
    for language, folder in CHARTS.items():
        charts = heads_charts(read("heads"), words[language])
        charts["growth.svg"] = growth_chart(read("growth"), words[language])
        for name, chart in charts.items():
            (folder / name).write_text(chart, encoding="utf-8")
    root = DOCS.parent
    for document in (*root.glob("README*.md"), root / "CONTRIBUTING.md", *DOCS.rglob("*.md")):
        document.write_text(filled(document.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
    else:
        print("\n\n".join(blocks().values()))

"""What the HTML pages share."""

import json
import re
from pathlib import Path

import pytest

import finetune.commands
from finetune.analysis.pages import templates
from finetune.analysis.pages.templates import inline_json, templates_of, write_page
from finetune.errors import UserError

COMMANDS = Path(next(iter(finetune.commands.__path__)))
SIZES = {"--c", "--share", "--weight", "--most", "--columns", "--heads"}  # set by elements
COLOURS = Path(str(templates.__file__)).with_name("colours.css")


def test_json_cannot_end_its_script() -> None:
    text = inline_json({"a": "</script><!-- & 한국어"})
    assert not {"<", ">", "&"} & set(text)
    assert json.loads(text) == {"a": "</script><!-- & 한국어"}


def test_a_page_is_written_whole_and_its_size_is_in_bytes(tmp_path: Path) -> None:
    assert write_page("눈", tmp_path / "page.html") == 3
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "눈"
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match="folder"):
        write_page("", tmp_path / "folder")


@pytest.mark.parametrize("name", ["report", "explain", "view"])
def test_a_page_has_the_palette_and_no_colour_that_it_lacks(name: str) -> None:
    palette = set(re.findall(r"(--\w+):", COLOURS.read_text(encoding="utf-8")))
    folder = COMMANDS / name
    sources = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.is_file()}
    text = "".join(sources.values())
    assert text.count('{% include "colours.css" %}') == 1
    used = set(re.findall(r"var\((--\w+)", text))
    assert used - palette <= SIZES
    assert {"--page", "--surface", "--ink", "--quiet", "--edge"} <= used
    assert re.findall(r"--(?:page|surface|ink|quiet|edge|link|series\d): *#", text) == []


def test_every_page_finds_the_palette() -> None:
    for name in ("report", "explain", "view"):
        assert "--series5" in templates_of(f"finetune.commands.{name}").get_template("colours.css").render()

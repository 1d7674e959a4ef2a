"""What the HTML pages share."""

import json
from pathlib import Path

import pytest

from finetune.analysis.pages.templates import inline_json, write_page
from finetune.errors import UserError


def test_json_cannot_end_its_script_and_a_page_is_written_whole(tmp_path: Path) -> None:
    text = inline_json({"a": "</script><!-- & 한국어"})
    assert not {"<", ">", "&"} & set(text)
    assert json.loads(text) == {"a": "</script><!-- & 한국어"}
    assert write_page("눈", tmp_path / "page.html") == 3  # bytes
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "눈"
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match="folder"):
        write_page("", tmp_path / "folder")

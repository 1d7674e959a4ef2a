"""Which language a person reads."""

import pytest
from support.cli import InProcess, assert_error

from finetune.errors import UserError
from finetune.languages.chosen import LOCALE, chosen_language


@pytest.fixture
def no_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FINETUNE_LANG", *LOCALE):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_locale")
@pytest.mark.parametrize(
    ("given", "language"),
    [
        ({}, "en"),
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"LANG": "ko"}, "ko"),
        ({"LANG": "kok_IN"}, "en"),  # Konkani
        ({"LANG": "fr_FR.UTF-8"}, "en"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "ko_KR.UTF-8"}, "ko"),
        ({"LC_ALL": "ko_KR.UTF-8", "FINETUNE_LANG": "en"}, "en"),
        ({"LANG": "en_US.UTF-8", "FINETUNE_LANG": "ko"}, "ko"),
        ({"LANG": "ko_KR.UTF-8", "FINETUNE_LANG": ""}, "ko"),
        ({"FINETUNE_LANG": "ko-KR"}, "ko"),
    ],
)
def test_the_variable_wins_over_the_locale(
    given: dict[str, str], language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert chosen_language() == language


def test_a_language_that_is_not_known_is_an_error(monkeypatch: pytest.MonkeyPatch, in_process: InProcess) -> None:
    monkeypatch.setenv("FINETUNE_LANG", "fr")
    with pytest.raises(UserError, match="'fr'"):
        chosen_language()
    code, out, err = in_process("ls", data="")
    assert (code, out) == (2, "")
    assert_error(err, "FINETUNE_LANG", "'fr'", "en or ko")

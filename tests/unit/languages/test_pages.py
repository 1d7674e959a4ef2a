"""A report in Korean: every sentence of it, of its script too, and none of what is data."""

import re
from pathlib import Path

import pytest
from jinja2 import Environment
from support.paths import ROOT
from support.records import change_record
from support.reports import nasty_tasks, read, saved_run
from support.reports import report as report_of
from support.runs import FinishedRun
from support.toys import cat_rows, cat_task

from finetune.analysis.pages import templates
from finetune.analysis.pages.in_language import SAID, script_sentences
from finetune.languages.sentences import Sentences, sentences_in
from finetune.runs.record_files import load_record
from finetune.runs.verdict import WORDS, verdict_of
from finetune.task_types.parts import Answer

REPORT = ROOT / "finetune" / "commands" / "report"
LIVE = ROOT / "finetune" / "commands" / "run" / "live.html.j2"
FOLLOW = re.compile(r"[a-z]{2,} [a-z]{2,}")  # two words of English
METRICS = re.compile(
    r"(dev|test) [\w@ /]+|(slot|strict|micro|macro|exact|masked|intent) \w+"
)  # names of scores are as in code


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What pages say from now on, in Korean, that has no sentence."""
    monkeypatch.setenv("FINETUNE_LANG", "ko")
    templates._templates.cache_clear()  # what they say themselves is looked up when they are compiled
    found = set[str]()

    def recorded(self: Sentences, text: str) -> str:
        pieces = list(self._pieces(text))
        found.update(piece for piece, known in pieces if known is None)
        return " ".join(piece if known is None else known for piece, known in pieces)

    monkeypatch.setattr(Sentences, "of", recorded)
    return found


def of_the_program(found: set[str], *data: str) -> set[str]:
    """Those that are not of the data, nor of notes, which are in English as the record has them."""
    return {
        text
        for text in found
        if FOLLOW.search(text) and not METRICS.fullmatch(text.rstrip(";")) and not any(text in one for one in data)
    }


def test_a_page_of_every_shape_is_in_korean(shapes: dict[str, Path], tmp_path: Path, unknown: set[str]) -> None:
    for run in shapes.values():
        page = report_of(tmp_path, run, out=run.parents[1])
        assert '<html lang="ko">' in page
        assert read(page).data
    assert of_the_program(unknown) == set()


@pytest.mark.parametrize("kind", ["sentence", "regression", "tagging", "multilabel", "span", "choice", "intent"])
def test_a_page_of_a_finished_run_is_in_korean(
    kind: str, finished_run: FinishedRun, tmp_path: Path, unknown: set[str]
) -> None:
    run = finished_run(kind)
    notes = load_record(run / "record.json").notes
    page = report_of(tmp_path, run, out=run.parents[1])
    assert "점수" in page
    assert of_the_program(unknown, *notes) == set()


@pytest.mark.parametrize("settings", [1, 2, 3])
def test_a_page_of_several_runs_is_in_korean(settings: int, tmp_path: Path, unknown: set[str]) -> None:
    """Seeds, A and B, and a table of settings."""
    task, rows = cat_task(), cat_rows(40)
    runs = []
    for setting in range(settings):
        for seed in (1, 2):
            labels = [Answer(value=one.value) for one in task.scoring.labels(rows)]
            wrong = [Answer(value="no") for _ in range(2 * setting + seed)]
            run = saved_run(tmp_path, task, rows, [*wrong, *labels[len(wrong) :]], seed=seed)
            record = load_record(run / "record.json")
            train = record.recipe["train"] | {"learning_rate": 10.0 ** -(3 + setting)}
            change_record(run / "record.json", recipe=record.recipe | {"train": train})
            runs.append(run)
    assert "시드" in report_of(tmp_path, *runs)
    assert of_the_program(unknown, "a note") == set()


def test_pages_of_committed_runs_and_of_their_seeds_are_in_korean(unknown: set[str]) -> None:
    records = [load_record(file) for file in sorted((ROOT / "results").glob("*/*/record.json"))]
    say = sentences_in("ko", "pages").of
    assert len(records) > 100
    for record in records:
        say(verdict_of([record]).sentence)
    assert of_the_program(unknown) == set()


def test_data_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Markup, and labels that are words of the page, too."""
    monkeypatch.setenv("FINETUNE_LANG", "ko")
    runs = [saved_run(tmp_path, task, rows, answers) for task, rows, answers in nasty_tasks()]
    for run in runs:
        found = read(report_of(tmp_path, run))
        assert "한국어" in found.text


def test_no_text_of_a_template_goes_around_the_language() -> None:
    for file in (REPORT / "page.html.j2", REPORT / "section.html.j2", LIVE):
        tokens = Environment().lex(file.read_text(encoding="utf-8"))
        plain = "".join(value if kind == "data" else " " for _, kind, value in tokens)
        plain = re.sub(r"<style>.*?</style>|<code>.*?</code>|<[^<>]*>|&nbsp;", " ", plain, flags=re.DOTALL)
        assert set(re.findall("[A-Za-z]{2,}", plain)) == set(), file.name


def test_the_script_says_what_has_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    script = (REPORT / "page.js").read_text(encoding="utf-8")
    monkeypatch.setenv("FINETUNE_LANG", "ko")
    assert set(script_sentences(script)) == set(SAID.findall(script))
    assert len(SAID.findall(script)) > 6
    monkeypatch.setenv("FINETUNE_LANG", "en")
    assert script_sentences(script) == {}


def test_every_baseline_has_a_name() -> None:
    known = sentences_in("ko", "pages")
    assert [words for words in WORDS.values() if known.known(words) is None] == []

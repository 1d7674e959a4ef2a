"""Facts and findings of a corpus."""

import random
from pathlib import Path

import pytest

from finetune.checks.finding import FileFinding
from finetune.commands.check import corpus_counts
from finetune.commands.check.corpus import CorpusFacts, corpus_facts
from finetune.commands.check.corpus_counts import Repeats
from finetune.data.documents import Documents
from finetune.models.tokenizers.load import load_text_tokenizer


def facts_of(path: Path, text: str, encoder: Path | None = None, *, pairs: bool = False) -> CorpusFacts:
    path.write_text(text, encoding="utf-8")
    tokenizer = None if encoder is None else load_text_tokenizer(encoder)
    return corpus_facts(Documents(path), tokenizer, model="tiny", pairs=pairs)


def codes(facts: CorpusFacts) -> dict[str, str]:
    """The findings, but for that of short texts, which nearly all of these are."""
    return {finding.code: finding.severity for finding in facts.findings if finding is not short(facts)}


def short(facts: CorpusFacts) -> FileFinding | None:
    return next((finding for finding in facts.findings if finding.code == "little-text"), None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "corpus.txt"


def test_facts(path: Path, tiny_bert: Path) -> None:
    facts = facts_of(path, "the cat sat\na dog ran\n\nthe cat sat\n\n새 집\n", tiny_bert)
    assert (facts.documents, facts.lines, facts.words, facts.longest) == (3, 4, 11, 11)
    assert facts.size == len("the cat sat\na dog ran") + len("the cat sat") + len("새 집".encode())
    assert facts.repeated == 0.25
    assert facts.single == pytest.approx(2 / 3)
    assert {name: round(share * 27) for name, share in facts.scripts.items()} == {"Latin": 25, "Hangul": 2}
    assert facts.unknown == pytest.approx(2 / 8)  # of the three different lines
    assert facts.tokens == round(8 / (11 + 9 + 7) * facts.size)
    assert facts.shown()["lines"] == "4, of which 25 % repeat earlier ones"
    assert facts.shown()["tokens"] == "about 12, 1.09 a word, 25 % unknown"
    assert "tokens" not in facts_of(path, "the cat sat\nb\n").shown()


def test_scripts_with_few_letters_are_not_listed(path: Path) -> None:
    facts = facts_of(path, "letters " * 2_000 + "\n새 집 вот\n")
    assert facts.shown()["scripts"] == "Latin 100 %, 2 others under 0.1 %"


def test_many_repeated_lines_are_shown(path: Path) -> None:
    lines = [f"line {number}" for number in range(60)]
    menu = "\n".join(line for number in range(11) for line in ("Home", "About us", "Contact", "Imprint"))
    facts = facts_of(path, "\n".join(lines) + "\n" + menu)
    assert facts.repeated == pytest.approx(40 / 104)
    assert codes(facts) == {}
    facts = facts_of(path, "\n".join(lines[:50]) + "\n" + menu)
    (finding,) = (one for one in facts.findings if one is not short(facts))
    assert (finding.code, finding.severity, finding.file) == ("repeated-lines", "warning", str(path))
    assert "'Home' (11 times), 'About us' (11 times), 'Contact' (11 times)" in finding.what
    assert "Imprint" not in finding.what


def test_a_text_is_too_short_to_learn_from(path: Path) -> None:
    found = short(facts_of(path, "one line\nand another\n"))
    assert found is not None and found.severity == "warning"
    assert found.what.startswith("2 documents with 19 bytes of text")
    assert short(facts_of(path, "".join(f"line number {number}\n" for number in range(1_000)))) is None
    assert short(facts_of(path, "one line\n")) is None  # an error


def test_repeats_are_counted_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_counts, "MOST_HASHES", 1_000)
    drawn, repeats = random.Random(0), Repeats()
    different = [drawn.getrandbits(64) for _ in range(10_000)]
    for own in different + different[:5_000]:
        repeats.add(own)
    assert len(repeats.hashes) <= 1_000
    assert repeats.share == pytest.approx(1 / 3, abs=0.07)
    assert set(repeats.times()) <= set(different[:5_000])


def test_the_sample_does_not_depend_on_the_order_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_counts, "SAMPLED", 10)
    lines = [f"line {number}" for number in range(100)]
    samples = []
    for some in (lines, lines[::-1] * 2):
        sample = corpus_counts.Sample()
        for line in some:
            sample.add(corpus_counts.line_hash(line), line)
        samples.append(sample.texts)
    assert samples[0] == samples[1]
    assert len(samples[0]) == 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cafÃ© au lait\nb\nc\n", {"mojibake": "warning"}),
        ("a\x01b\n" + "many words that follow " * 9, {"control": "note"}),
        ("a \ufffd b\nc\n", {"replacement": "warning"}),
        ("<p>a</p>\nb\n", {"html": "note"}),
        ("word " * 2_001 + "\nb\n", {"long-lines": "note"}),
        ("a\n\na\n\na\n", {"one-document": "error", "repeated-lines": "warning"}),
        ("a\nb\n", {}),
    ],
)
def test_findings(path: Path, text: str, expected: dict[str, str]) -> None:
    assert codes(facts_of(path, text)) == expected


def test_documents_of_one_line_have_no_pair(path: Path) -> None:
    assert codes(facts_of(path, "a\nb\nc\n")) == {}
    assert codes(facts_of(path, "a\nb\nc\n", pairs=True)) == {"single-lines": "error"}
    assert codes(facts_of(path, "a\n\nb\n\nc\nd\n", pairs=True)) == {"single-lines": "warning"}
    assert codes(facts_of(path, "a\nb\n\nc\nd\n", pairs=True)) == {}


def test_a_text_that_the_vocabulary_does_not_know(path: Path, tiny_bert: Path) -> None:
    known = "the cat sat on the house\n" * 3 + "a dog ran\n"
    assert "unknown-tokens" not in codes(facts_of(path, known, tiny_bert))
    some = "\n".join(["the cat sat on a big red house under one old tree", "he 새 saw it"])
    assert codes(facts_of(path, some, tiny_bert)) == {"unknown-tokens": "warning"}
    korean = "\n".join(f"{number}번째 날에 우리는 학교에 갔습니다" for number in range(40))
    facts = facts_of(path, korean, tiny_bert)
    assert codes(facts) == {"vocabulary": "warning"}
    assert any("finetune tokenizer" in finding.remedy for finding in facts.findings)

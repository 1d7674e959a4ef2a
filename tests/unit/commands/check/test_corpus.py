"""Facts of a corpus."""

from pathlib import Path

from finetune.commands.check.findings import corpus_facts
from finetune.data.documents import read_documents
from finetune.models.tokenizers.load import load_fast_tokenizer


def test_facts(tmp_path: Path, tiny_bert: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("the cat sat\na dog ran\n\nthe cat sat\n\n새 집\n", encoding="utf-8")
    facts = corpus_facts(read_documents(path), load_fast_tokenizer(tiny_bert))
    assert (facts.documents, facts.lines) == (3, 4)
    assert facts.size == len("the cat sat\na dog ran") + len("the cat sat") + len("새 집".encode())
    assert facts.tokens == 11
    assert corpus_facts(read_documents(path)).tokens is None

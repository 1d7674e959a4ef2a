"""Published scores are shown with the same model, rows and settings alone."""

from finetune.analysis.published import anchors


def test_published_scores_of_glue_squad_conll_and_klue() -> None:
    every = anchors(task="mrpc")
    base = [anchor for anchor in every if anchor.model == "google-bert/bert-base-uncased"]
    assert {anchor.score for anchor in base if anchor.is_of("dev", 408)} == {0.867, 0.8456, 0.8199}
    assert {anchor.score for anchor in base if anchor.is_of("test", 1725)} == set()
    assert {anchor.score for anchor in base if anchor.split == "server"} == {0.889}
    assert not [anchor for anchor in every if anchor.model == "minilm"]
    (squad,) = (a for a in anchors(task="squad-v1") if "Table 2 (BERT-BASE)" in a.source and a.metric == "f1")
    assert squad.is_of("dev", 10_570) and not squad.is_of("dev", 5_000)
    frozen = {"frozen": True, "bilstm": True, "layers": "concat-last-4"}
    assert [anchor.score for anchor in anchors(task="conll-2003", settings=frozen)] == [0.961]
    assert 0.961 not in {anchor.score for anchor in anchors(task="conll-2003")}
    ner = [anchor for anchor in anchors(task="klue-ner") if anchor.model == "klue/roberta-base"]
    assert {(anchor.split, anchor.metric, round(anchor.score, 4)) for anchor in ner} == {
        *[("dev", "entity macro f1", 0.8381), ("dev", "character macro f1", 0.9109)],
        *[("server", "entity macro f1", 0.8513), ("server", "character macro f1", 0.9152)],
    }

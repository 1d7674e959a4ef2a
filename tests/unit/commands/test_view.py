"""`finetune view`: its numbers are those of transformers and scikit-learn, in every family and for odd texts."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from finetune.commands.view.encoder import Encoder, loaded_encoder
from finetune.commands.view.look import look
from finetune.commands.view.page import project, render_view
from finetune.commands.view.word_vectors import sentences_of, word_vectors
from finetune.errors import UserError

PAIR = ["the cat sat on the road", "a dog ran"]
BANK = sentences_of("bank", None)[8:12]
WITHOUT_SEGMENTS = {"distilbert", "modernbert", "mpnet", "eurobert", "deberta", "deberta-v2", "esm"}
WITHOUT_POSITIONS = {"modernbert", "deberta", "deberta-v2", "roformer", "eurobert", "nomic_bert", "gte"}


def loaded(folder: Path) -> Encoder:
    return loaded_encoder(str(folder), out=Path("results"))


def test_all_that_is_shown_of_a_family_is_that_of_transformers(tiny_encoder: Path) -> None:
    model = transformers.AutoModel.from_pretrained(tiny_encoder, attn_implementation="eager").eval()
    tokenizer, encoder, kind = transformers.AutoTokenizer.from_pretrained(tiny_encoder), loaded(tiny_encoder), ""
    kind, inputs = model.config.model_type, encoder.encode(PAIR)
    assert inputs["input_ids"][0].tolist() == tokenizer(*PAIR)["input_ids"]
    with torch.no_grad():
        theirs = model(**inputs, output_attentions=True, output_hidden_states=True)
    if kind == "big_bird":
        with pytest.raises(UserError, match="its family returns no attention weights"):
            look(encoder, PAIR, "bank", BANK)
        return
    inside = look(encoder, PAIR, "bank", BANK)
    assert np.abs(inside.attention.weights - torch.cat(theirs.attentions).numpy()).max() < 1e-6
    found, tokens = inside.inputs, len(inside.inputs.ids)
    assert np.abs(found.given - theirs.hidden_states[0][0, :tokens].numpy()).max() < 1e-6
    table = model.get_input_embeddings().weight[inputs["input_ids"][0]].detach().numpy()
    assert np.abs(found.parts["token"] - table).max() < 1e-6
    shown = {"token", "segment", "position"} - ({"segment"} if kind in WITHOUT_SEGMENTS else set())
    assert {*found.parts} == shown - ({"position"} if kind in WITHOUT_POSITIONS else set())
    assert [word for word in found.words if word] == " ".join(PAIR).split()
    assert (len(found.numbers), found.numbers[0]) == (tokens, -1)
    assert sorted({*found.numbers}) == list(range(-1, len(found.words)))


def test_word_vectors_are_hidden_states_of_transformers(tiny_encoder: Path) -> None:
    encoder, sentence = loaded(tiny_encoder), BANK[1]
    found = word_vectors(encoder, "bank", BANK)
    encoded = encoder.tokenizer(sentence.text, return_tensors="pt", return_token_type_ids=False)
    places = {encoded.char_to_token(character) for character in range(sentence.start, sentence.end)} - {None}
    model = transformers.AutoModel.from_pretrained(tiny_encoder, attn_implementation="eager").eval()
    with torch.no_grad():
        states = model(**encoded, output_hidden_states=True).hidden_states
    for layer, state in enumerate(states):
        assert np.abs(found.layers[layer, 1] - state[0, sorted(places)].mean(0).numpy()).max() < 1e-6
    assert np.abs(found.context_free - found.context_free[0]).max() < 1e-6


def test_hidden_words_are_those_of_transformers(tiny_masked: Path) -> None:
    """All pieces of a word are hidden at once."""
    encoder, texts = loaded(tiny_masked), ["the catz sat", "a [MASK] ran"]
    found, inputs = look(encoder, texts, "bank", BANK).hidden or [], encoder.encode(texts)
    model = transformers.AutoModelForMaskedLM.from_pretrained(tiny_masked).eval()
    ids = inputs["input_ids"][0].tolist()
    assert max(map(len, found)) > 1 and len(found) == 6
    for word in found:
        hidden = {name: part.clone() for name, part in inputs.items()}
        hidden["input_ids"][0, [guess["place"] for guess in word]] = encoder.tokenizer.mask_token_id
        with torch.no_grad():
            logits = model(**hidden).logits[0]
        for guess in word:
            shares = logits[guess["place"]].softmax(-1)
            best, own = shares.topk(5), ids[guess["place"]]
            assert list(guess["tokens"]) == encoder.tokenizer.convert_ids_to_tokens(best.indices.tolist())
            assert list(guess["probabilities"]) == pytest.approx(best.values.tolist(), rel=1e-4)
            if own == encoder.tokenizer.mask_token_id:  # the text has [MASK] there
                assert (guess["probability"], guess["rank"]) == (None, None)
                continue
            assert guess["probability"] == pytest.approx(float(shares[own]), rel=1e-4)
            assert guess["rank"] == shares.argsort(descending=True).tolist().index(own) + 1


def test_projection_is_that_of_scikit_learn() -> None:
    from sklearn.decomposition import PCA
    from sklearn.metrics import silhouette_score
    from sklearn.metrics.pairwise import cosine_similarity

    meanings = ["a"] * 6 + ["b"] * 8 + ["c"] * 5
    vectors = np.random.default_rng(0).normal(size=(19, 7)) + np.repeat([[0.0], [2.0], [-2.0]], [6, 8, 5], axis=0)
    found, theirs = project(vectors, meanings), PCA(2).fit(vectors)
    assert np.abs(found["points"]) == pytest.approx(np.abs(theirs.transform(vectors)), abs=1e-9)
    assert found["explained"] == pytest.approx(theirs.explained_variance_ratio_)
    assert found["silhouette"] == pytest.approx(silhouette_score(vectors, meanings, metric="cosine"))
    close = cosine_similarity(vectors) - 9 * np.eye(19)
    same = [meanings[row.argmax()] == mine for row, mine in zip(close, meanings, strict=True)]
    assert found["neighbours"] == pytest.approx(np.mean(same))
    assert project(np.ones((4, 3)), ["a", "a", "b", "b"])["explained"] == (0.0, 0.0)
    assert project(np.eye(3), ["", "", ""])["silhouette"] is None


@pytest.mark.parametrize(
    "texts",
    [["שלום עולם", "مرحبا بالعالم"], ["<b>the</b> [MASK] & </script> cat\u200b\x07"], ["배가 고프다", "밥을 먹었다"]],
)
def test_odd_texts_give_a_page_that_asks_for_nothing(texts: list[str], tiny_masked: Path) -> None:
    inside = look(loaded(tiny_masked), texts, "bank", BANK)
    assert len(inside.tokens) == len(inside.inputs.numbers) == len(inside.inputs.ids)
    page = render_view(replace(inside, model="<big>"), language="ko")
    assert (page.count("</script>"), "&lt;big&gt;" in page, "<big>" in page) == (2, True, False)
    assert "default-src 'none'" in page and "https://" not in page
    data = json.loads(re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)[0])
    assert (data["tokens"], data["language"]) == (list(inside.tokens), "ko")

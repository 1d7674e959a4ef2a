"""Names of encoders on the Hugging Face Hub, for a name that is mistyped or is a URL."""

import re
from pathlib import Path

from finetune.errors import nearest

KNOWN = (
    "minilm",
    *("google-bert/bert-base-uncased", "google-bert/bert-base-cased", "google-bert/bert-base-multilingual-cased"),
    *("google-bert/bert-large-uncased", "google-bert/bert-large-cased", "google-bert/bert-base-multilingual-uncased"),
    *("google-bert/bert-base-chinese", "google-bert/bert-base-german-cased", "DeepPavlov/rubert-base-cased"),
    *("google/bert_uncased_L-2_H-128_A-2", "google/bert_uncased_L-4_H-256_A-4", "google/mobilebert-uncased"),
    *("FacebookAI/roberta-base", "FacebookAI/roberta-large", "FacebookAI/xlm-roberta-base"),
    *("FacebookAI/xlm-roberta-large", "distilbert/distilbert-base-uncased", "distilbert/distilbert-base-cased"),
    *("distilbert/distilbert-base-multilingual-cased", "distilbert/distilroberta-base"),
    *("albert/albert-base-v2", "albert/albert-large-v2", "google/electra-small-discriminator"),
    *("google/electra-base-discriminator", "google/electra-large-discriminator"),
    *("microsoft/deberta-base", "microsoft/deberta-v3-base", "microsoft/deberta-v3-large"),
    *("microsoft/MiniLM-L12-H384-uncased", "microsoft/mpnet-base", "answerdotai/ModernBERT-base"),
    *("sentence-transformers/all-MiniLM-L6-v2", "sentence-transformers/all-mpnet-base-v2"),
    *("allenai/scibert_scivocab_uncased", "dmis-lab/biobert-v1.1", "ProsusAI/finbert", "almanach/camembert-base"),
    *("klue/bert-base", "klue/roberta-small", "klue/roberta-base", "klue/roberta-large", "beomi/kcbert-base"),
    *("monologg/koelectra-base-v3-discriminator", "aubmindlab/bert-base-arabertv02"),
)
ON_HUB = re.compile(r"https?://(?:www\.)?(?:huggingface\.co|hf\.co)/([\w.-]+(?:/[\w.-]+)?)")
CACHED = re.compile(r"models--(.+)--(.+)")  # the folder of a repository in the Hub's cache


def near_names(name: str, cache: Path) -> str:
    """`Did you mean 'google-bert/bert-base-uncased'? `, of those that are known or in the Hub's cache; else empty.

    A name without its owner is compared with names without theirs.
    """
    cached = [f"{found[1]}/{found[2]}" for folder in _folders(cache) if (found := CACHED.fullmatch(folder))]
    every = [*KNOWN, *cached]
    if name in every:
        return ""
    spelled = {one.lower() if "/" in name else one.rpartition("/")[2].lower(): one for one in reversed(every)}
    return re.sub("'([^']+)'", lambda found: f"'{spelled[found[1]]}'", nearest(name.lower(), list(spelled)))


def name_in_url(url: str) -> str:
    """The name of the repository whose page on the Hub this is; empty for another URL."""
    found = ON_HUB.match(url)
    return found[1] if found else ""


def _folders(cache: Path) -> list[str]:
    return [folder.name for folder in cache.iterdir()] if cache.is_dir() else []

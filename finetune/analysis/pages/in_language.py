"""What pages say in the reader's language: their sentences, and those of their scripts."""

import re

from finetune.languages.chosen import ENGLISH, chosen_language
from finetune.languages.sentences import sentences_in, translated

SAID = re.compile(r'\bsay\("((?:[^"\\]|\\.)+)"')  # by a script


def on_page(text: str) -> str:
    """A text of a page that is not of the data: a title, a note, a name in a legend."""
    return translated(text, "pages")


def script_sentences(script: str) -> dict[str, str]:
    """What a script says in the reader's language, by what it says in English; empty where that is English."""
    if (language := chosen_language()) == ENGLISH:
        return {}
    lines = sentences_in(language, "pages").lines
    return {text: lines[text] for text in SAID.findall(script) if text in lines}

"""Words of all languages by what they mean in data: `word_list("label")` has the names of label columns.

A language is one file here, `<language>.toml`, with the lists that it has words for. English comes first in every list
and the others by name; within a language those that mean it most clearly come first.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

FOLDER: Traversable = files("finetune.data.words")
FIRST = "english"
LISTS = {  # what each list holds; names of columns are in lower case, without spaces
    "label": "names of a label column",
    "label_alone": "those of them that are weaker evidence in a longer name",
    "label_subject": "what labels are about: names of columns that may hold one",
    "label_weak": "names of columns that are the label where no other name is",
    "label_of_classes": "words in names of columns whose numbers are classes",
    "label_of_degrees": "words in names of columns whose numbers are degrees",
    "label_of_order": "further words in names of columns whose values are in an order",
    "scales": "labels that are in an order, each list from the lowest to the highest",
    "text": "names of a text column",
    "text_weak": "names of columns that are the text where none of `text` is: titles, questions",
    "text_pairs": "two names of columns that are a pair of texts",
    "about": "last words in names of facts about a row or its label: dates, authors, counts",
    "annotator": "words in names of columns that say who gave a label, or hold one annotator's labels",
    "id": "names of a column of ids",
    "id_seldom": "those that are seldom the row's own id",
    "id_ending": "last words in names of ids",
    "question": "names of a column of questions about a context",
    "context": "names of a column of contexts",
    "answer": "names of a column of answers that are in a context",
    "choices": "words in names of a column with a list of choices",
    "choice_stem": "what names of columns with one choice each begin with, before a number or letter",
    "choice_after": "what follows the number of a choice in a label",
    "choice_context": "names of columns that alone are what choices continue",
    "choice_passage": "names of columns with a passage that choices answer a question about",
    "choice_question": "names of columns with that question",
    "words": "names of a column of words",
    "tags": "names of a column of tags",
    "no_yes": "two values of a column that mean no and yes",
    "flag": "words by which the name of a column asks for yes or no",
    "months": "how names of months begin",
    "weekdays": "how names of days begin",
    "after_year": "what follows the number of a year in a date",
    "particles": "endings that are written together with a noun",
}


@cache
def word_list(name: str) -> tuple[str, ...]:
    """The words of a list in all languages, each once."""
    return tuple(dict.fromkeys(word for words in by_language(name).values() for word in words))


@cache
def pair_list(name: str) -> tuple[tuple[str, str], ...]:
    """The pairs of words of a list in all languages, each once."""
    pairs = ((first, second) for listed in by_language(name).values() for first, second in listed)
    return tuple(dict.fromkeys(pairs))


def by_language(name: str) -> Mapping[str, Sequence[Any]]:
    """A list by language (`German`), of those that have it."""
    if name not in LISTS:
        raise KeyError(f"no list of words is named {name!r}")
    return {language.title(): lists[name] for language, lists in _files().items() if name in lists}


@cache
def _files() -> Mapping[str, Mapping[str, Sequence[Any]]]:
    files = {file.name.removesuffix(".toml"): file for file in FOLDER.iterdir() if file.name.endswith(".toml")}
    order = sorted(files, key=lambda language: (language != FIRST, language))
    return {language: tomllib.loads(files[language].read_text(encoding="utf-8")) for language in order}

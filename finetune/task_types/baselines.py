"""Baselines, shown with every result: they show whether an encoder is worth its cost on this data."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

Label = TypeVar("Label", str, tuple[str, ...])
TextTuples = Sequence[tuple[str, ...]]
NGRAMS = (("word", (1, 2)), ("char_wb", (2, 4)))
MOST_CHARACTERS = 8_000_000  # most that TF-IDF reads, in about a minute and 1 GB; SST-2 has 3.6 million


def majority(labels: Sequence[Label], count: int) -> list[Label]:
    """The most frequent label, or tuple of labels (ties: the first alphabetically), `count` times."""
    counts = Counter(labels)
    return [min(counts, key=lambda label: (-counts[label], label))] * count


def mean(values: Sequence[float], count: int) -> list[float]:
    """The mean, `count` times."""
    return [float(np.mean(values))] * count


def tfidf_classify(
    texts: TextTuples, labels: Sequence[str], unseen: TextTuples
) -> tuple[list[str], np.ndarray, list[str]]:
    """Logistic regression on TF-IDF: predictions for `unseen`, their probabilities `(rows, classes)`, the classes."""
    from sklearn.linear_model import LogisticRegression

    texts, labels = _read(texts, labels)
    if len(set(labels)) < 2 or not _has_words(texts):
        constant = majority(labels, len(unseen))
        return constant, np.ones((len(unseen), 1)), constant[:1]
    train, new = vectors(texts, unseen)
    model = LogisticRegression(max_iter=300).fit(train, labels)
    probabilities, classes = model.predict_proba(new), [str(label) for label in model.classes_]
    return [classes[place] for place in probabilities.argmax(1)], probabilities, classes


def tfidf_multilabel(texts: TextTuples, gold: np.ndarray, unseen: TextTuples) -> np.ndarray:
    """Probabilities `(rows, labels)` for `unseen`: one logistic regression on TF-IDF per label (one-vs-rest).

    `gold` `(texts, labels)` is true where a text has a label. A label of all or no texts gets probability 1 or 0.
    """
    from sklearn.linear_model import LogisticRegression

    texts, chosen = _read(texts, gold)  # type: ignore[arg-type]
    seen = np.stack(chosen)
    share = seen.mean(0)
    probabilities = np.tile(share, (len(unseen), 1))
    if not _has_words(texts):
        return probabilities
    train, new = vectors(texts, unseen)
    for label in np.flatnonzero((share > 0) & (share < 1)):
        model = LogisticRegression(max_iter=300).fit(train, seen[:, label])
        probabilities[:, label] = model.predict_proba(new)[:, 1]
    return probabilities


def tfidf_regress(texts: TextTuples, values: Sequence[float], unseen: TextTuples) -> list[float]:
    """Ridge regression on TF-IDF, clipped to the range of the training values."""
    from sklearn.linear_model import Ridge

    texts, values = _read(texts, values)
    if not _has_words(texts):
        return mean(values, len(unseen))
    train, new = vectors(texts, unseen)
    answers = Ridge(alpha=1.0).fit(train, values).predict(new)
    return [float(x) for x in np.clip(answers, min(values), max(values))]


def vectors(texts: TextTuples, unseen: TextTuples) -> tuple[Any, Any]:
    """TF-IDF vectors of both, fitted on `texts`: of word 1-2-grams and character 2-4-grams, whose columns follow each
    other; a pair (a, b) becomes |a - b| and a * b.
    """
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import TfidfVectorizer

    sides: tuple[tuple[TextTuples, list[Any]], ...] = (texts, []), (unseen, [])
    for analyzer, ngrams in NGRAMS:
        vectorizer = TfidfVectorizer(analyzer=analyzer, ngram_range=ngrams, sublinear_tf=True, dtype=np.float32)
        vectorizer.fit([text for row in texts for text in row])
        for rows, parts in sides:
            columns = [vectorizer.transform(column) for column in zip(*rows, strict=True)]
            if len(columns) == 2:
                a, b = columns
                columns = [abs(a - b), a.multiply(b)]
            parts += columns
    (_, train), (_, new) = sides
    return hstack(train).tocsr(), hstack(new).tocsr()


def most_frequent(seen: Iterable[tuple[str, str]], rows: Iterable[Sequence[str]], *, unseen: str) -> list[list[str]]:
    """For each word of each row its most frequent tag in `seen` (word, tag), or `unseen`."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for word, tag in seen:
        counts[word][tag] += 1
    tags = {word: min(tag_counts, key=lambda tag: (-tag_counts[tag], tag)) for word, tag_counts in counts.items()}
    return [[tags.get(word, unseen) for word in words] for words in rows]


def best_overlap(question: str, sentences: Sequence[str]) -> str:
    """The sentence that shares the most words with the question, the first of several."""
    asked = set(_words(question))
    return max(sentences, key=lambda sentence: len(asked & set(_words(sentence))), default="")


def most_similar(texts: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> list[int]:
    """For each (context, choices) the index of the choice nearest to the context, by cosine of TF-IDF vectors."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not _has_words([tuple(texts)]):
        return [0] * len(rows)
    vectorizer = TfidfVectorizer(sublinear_tf=True).fit(texts)
    contexts = vectorizer.transform([context for context, _ in rows])
    choices = vectorizer.transform([choice for _, row_choices in rows for choice in row_choices])
    owner = np.repeat(np.arange(len(rows)), [len(row_choices) for _, row_choices in rows])
    likeness = np.asarray(contexts[owner].multiply(choices).sum(1)).ravel()
    return [int(part.argmax()) for part in np.split(likeness, np.flatnonzero(np.diff(owner)) + 1)]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def read_rows(texts: Iterable[tuple[str, ...]]) -> np.ndarray:
    """The indexes of the rows that TF-IDF reads: all, or a random sample where the texts would not fit in memory."""
    lengths = np.fromiter((sum(map(len, row)) for row in texts), np.int64)
    if lengths.sum() <= MOST_CHARACTERS:
        return np.arange(len(lengths))
    drawn = np.random.default_rng(0).permutation(len(lengths))
    return np.sort(drawn[: max(2, int(np.searchsorted(lengths[drawn].cumsum(), MOST_CHARACTERS, side="right")))])


def _read(texts: TextTuples, gold: Sequence[Any]) -> tuple[TextTuples, Sequence[Any]]:
    chosen = read_rows(texts)
    return [texts[i] for i in chosen], [gold[i] for i in chosen]


def _has_words(texts: TextTuples) -> bool:
    """Whether the vocabulary would not be empty: scikit-learn counts words of two characters or more."""
    return any(re.search(r"\w\w", text) for row in texts for text in row)

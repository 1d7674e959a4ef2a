"""Tables of docs/ on Korean data sets: published scores, and a small encoder of our own from the records."""

from collections.abc import Iterator, Sequence
from itertools import product

from finetune.analysis.published import Anchor, anchors
from finetune.analysis.table import Cells, markdown_table
from finetune.metrics.metric import Metric
from finetune.runs.record import RunRecord
from finetune.runs.seeds import paired, summarised

PUBLISHED = {  # task, split, metrics of each column
    "NSMC": ("nsmc", "test", ("accuracy",)),
    "Naver NER": ("naver-ner", "test", ("f1",)),
    "KorNLI": ("kornli", "test", ("accuracy",)),
    "KorSTS": ("korsts", "test", ("spearman",)),
    "KorQuAD (EM/F1)": ("korquad", "dev", ("em", "f1")),
}
OURS = {"nsmc": ("NSMC", "accuracy"), "korsts": ("KorSTS", "spearman")}
TFIDF, NEW, TRAINED = "TF-IDF", "not pre-trained", "pre-trained on NSMC's reviews"
SOURCE = "nsmc-text"


def published_table() -> str:
    """A row for each encoder and source, the best of each column in bold."""
    every = [
        [anchor for anchor in anchors(task=task) if anchor.split == split] for task, split, _ in PUBLISHED.values()
    ]
    names = list(dict.fromkeys((anchor.model, anchor.source) for some in every for anchor in some))
    numbers = {source: number for number, source in enumerate(dict.fromkeys(source for _, source in names), start=1)}
    rows = list[Cells]()
    for model, source in names:
        cells = [
            _scores([anchor for anchor in some if (anchor.model, anchor.source) == (model, source)], some, metrics)
            for some, (_, _, metrics) in zip(every, PUBLISHED.values(), strict=True)
        ]
        rows.append([f"{model} [{numbers[source]}]", *cells])
    sources = " ".join(f"[{number}] {source}." for source, number in numbers.items())
    return "\n".join([markdown_table(["", *PUBLISHED], rows), "", sources])


def _scores(mine: Sequence[Anchor], every: Sequence[Anchor], metrics: Sequence[str]) -> str:
    found = {anchor.metric: anchor.score for anchor in mine}
    best = {metric: max(anchor.score for anchor in every if anchor.metric == metric) for metric in metrics}
    shown = [
        f"**{100 * found[metric]:.2f}**" if found[metric] == best[metric] else f"{100 * found[metric]:.2f}"
        for metric in metrics
        if metric in found
    ]
    return " / ".join(shown)


def encoder_table(records: Sequence[RunRecord]) -> str:
    """Test scores of TF-IDF, of an encoder that was pre-trained on NSMC's reviews, and of the same without."""
    runs = {task: [one for one in records if one.task == task and (one.lineage or _new(one))] for task in OURS}
    if not all(runs.values()):
        return ""
    rows = [row for task, some in runs.items() for row in _rows(task, some)]
    head = ["task", "system", "runs", "test", "95 % interval"]
    notes = [*_changes(runs), _pretraining(records), _tuning(runs)]
    return "\n".join([markdown_table(head, rows), "", " ".join(notes)])


def _new(record: RunRecord) -> bool:
    return str(record.recipe["model"]).startswith("new:")


def _rows(task: str, runs: Sequence[RunRecord]) -> Iterator[Cells]:
    name, metric = OURS[task][0], runs[0].metric(OURS[task][1])
    for system in (TFIDF, NEW, TRAINED):
        if scores := list(_test(task, runs, system).values()):
            found = summarised(scores, metric)
            interval = " to ".join(map(metric.shown, found.interval or ()))
            yield [f"{name}: {metric.name}", system, len(scores), metric.shown(found.mean), interval]


def _test(task: str, runs: Sequence[RunRecord], system: str) -> dict[int, float]:
    """The test score of each seed."""
    name = OURS[task][1]
    if system != TFIDF:
        return {one.recipe["seed"]: one.scores["test"][name] for one in runs if _new(one) == (system == NEW)}
    return {
        one.recipe["seed"]: scores[name]
        for one, (method, scores) in ((one, each) for one in runs for each in one.baselines["test"].items())
        if method.startswith("tfidf")
    }


def _changes(runs: dict[str, list[RunRecord]]) -> Iterator[str]:
    """What pre-training changed, and how far the encoder is from TF-IDF, over pairs of one seed."""
    for (task, some), before in product(runs.items(), (NEW, TFIDF)):
        name, metric = OURS[task][0], some[0].metric(OURS[task][1])
        old, new = _test(task, some, before), _test(task, some, TRAINED)
        pairs = [(old[seed], new[seed]) for seed in sorted(old.keys() & new.keys())]
        if len(pairs) > 1:
            yield f"{name}, pre-trained, from {before}: {_signed(pairs, metric)}."


def _signed(pairs: Sequence[tuple[float, float]], metric: Metric) -> str:
    change = paired(pairs, metric)
    low, high = map(metric.signed, change.interval or (change.mean, change.mean))
    return f"{metric.signed(change.mean)} ({low} to {high}, {len(pairs)} pairs of one seed)"


def _pretraining(records: Sequence[RunRecord]) -> str:
    first = encoders(records)[-1]
    minutes, recipe = first.seconds["total"] / 60, first.recipe
    updates, batch = recipe["train"]["updates"], recipe["train"]["batch_size"]
    return (
        f"One pre-training of {recipe['model']}: {updates:,} updates of {batch}, {minutes:.0f} minutes of a shared "
        f"core, a vocabulary of {int(recipe['tokenizer']):,}, "
        f"{100 * first.scores['dev']['masked accuracy']:.1f} % of masked words right. The intervals do not cover "
        "another one."
    )


def encoders(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The pre-trainings on NSMC's reviews by the recipe `korean-encoder`, the shortest first."""
    found = [one for one in records if one.task == SOURCE]
    return sorted(found, key=lambda one: int(one.recipe["train"]["updates"]))


def minutes_table(records: Sequence[RunRecord], *, korean: bool = False) -> str:
    """How long a small Korean encoder takes, and how many hidden words it finds."""
    heads = {
        False: ["updates", "minutes", "hidden words that it finds"],
        True: ["업데이트", "분", "가린 단어를 맞힌 비율"],
    }
    rows = [
        [
            f"{one.recipe['train']['updates']:,}",
            f"{one.seconds['total'] / 60:.0f}",
            f"{100 * one.scores['dev']['masked accuracy']:.1f} %",
        ]
        for one in encoders(records)
    ]
    return markdown_table(heads[korean], rows)


def _tuning(runs: dict[str, list[RunRecord]]) -> str:
    parts = []
    for task, some in runs.items():
        rows, train = some[0].rows, some[0].recipe["train"]
        parts.append(f"{OURS[task][0]} {rows['train']:,} rows, {train['epochs']} epochs, {rows['test']:,} of test")
    return f"Fine-tuning: {'; '.join(parts)}. NSMC's files are a balanced redraw, not the official split."

"""An explained row as the weights of its words in a report."""

from finetune.commands.report.blocks import WordWeight
from finetune.inference.explain.explanation import ExplainedRow
from finetune.inference.explain.pieces import text_pieces


def word_weights(row: ExplainedRow) -> list[WordWeight]:
    """The pieces of the row's texts with the first explanation's parts: the strongest is 1 or -1, if not small."""
    explanation = row.explanations[0]
    found: list[WordWeight] = []
    for number, name in enumerate(row.texts):
        found += [WordWeight(text=" / ", weight=0.0)] * (number > 0)
        found += [
            WordWeight(text=one.text, weight=one.share) for one in text_pieces(row, explanation, name) if one.text
        ]
    return found

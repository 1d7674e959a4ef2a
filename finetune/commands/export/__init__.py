"""A model as a graph that runs without torch."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Use",
    place=7,
    help="Write a graph that predicts without torch, checked on dev.",
    examples=(
        ("finetune export RUN -o exported", "an ONNX graph with the run's answers"),
        ("finetune export RUN -o small --int8", "a quarter of the size; refused if it loses over half a point"),
    ),
)

"""A model as a graph that runs without torch."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Use",
    place=7,
    help="Write a smaller, faster graph, checked against its run.",
    examples=(
        ("finetune export RUN -o exported", "an ONNX graph with the run's answers"),
        (
            "finetune export RUN -o exported --int8",
            "a quarter of the weights' size; refused if it loses over half a point",
        ),
    ),
)

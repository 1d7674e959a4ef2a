"""Settings of optimizer and schedule that are refused."""

from typing import Any

import pytest

from finetune.errors import UserError
from finetune.runs.resolve import parse


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"train": {"noam_factor": 0.1}}, "'train.noam_factor' was taken out"),
        ({"train": {"schedule": "noam"}}, "'noam' was taken out"),
        ({"train": {"schedule": "polynomial"}}, "'polynomial' was taken out"),
        ({"train": {"solver": "radam"}}, "'radam' was taken out"),
        ({"train": {"solver": "sgd"}}, "'sgd' was taken out"),
        ({"train": {"schedule": "slanted_triangular"}}, "'slanted_triangular' was taken out"),
        ({"train": {"solver": "adamw"}}, "adam, logistic, contrastive"),
        ({"train": {"schedule": "slanted"}}, "linear, cosine, constant"),
    ],
)
def test_what_is_not_there_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        parse({"task": "rte", **settings}, origin="recipe")

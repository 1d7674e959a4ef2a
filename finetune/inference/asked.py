"""What `predict` and `evaluate` are asked to leave unanswered: a coverage, a risk, a precision, sets of labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from finetune.errors import UserError

UNSURE = "unsure"  # the prediction of a row that is not answered, and the column of what was left out


@dataclass(frozen=True, kw_only=True)
class AskedAnswers:
    """A share of rows to answer, a share of wrong answers, the precision of labels, the level of label sets; or None.

    Raises UserError for a share that is not between 0 and 1, and for more than one of the first three.
    """

    coverage: float | None = None
    risk: float | None = None
    precision: tuple[tuple[str, float], ...] = ()
    label_sets: float | None = None

    def __post_init__(self) -> None:
        given = {"coverage": self.coverage, "risk": self.risk, "label_sets": self.label_sets}
        shares = {name: share for name, share in given.items() if share is not None}
        for name, share in (*shares.items(), *(("precision", share) for _, share in self.precision)):
            if not 0 < share < 1:
                raise UserError(f"'{name}' is {share:g}", "Give a share between 0 and 1, such as 0.05 for 5 %")
        if len([name for name in ("coverage", "risk") if name in shares]) + bool(self.precision) > 1:
            raise UserError("of coverage, risk and precision one can be asked for", "Leave the others out")

    def __bool__(self) -> bool:
        return self.abstains or self.label_sets is not None

    @property
    def abstains(self) -> bool:
        """Whether rows may be left unanswered."""
        return self.coverage is not None or self.risk is not None or bool(self.precision)


NOTHING = AskedAnswers()


def asked_answers(
    coverage: float | None,
    risk: float | None,
    precision: Sequence[str] | Mapping[str, float] | None,
    label_sets: float | None,
) -> AskedAnswers:
    """What is asked for; `precision` as `LABEL=SHARE`, or by label. Raises UserError for what cannot be asked."""
    named = precision.items() if isinstance(precision, Mapping) else map(_label_and_share, precision or ())
    return AskedAnswers(coverage=coverage, risk=risk, precision=tuple(named), label_sets=label_sets)


def _label_and_share(given: str) -> tuple[str, float]:
    label, _, share = given.rpartition("=")
    try:
        return label, float(share)
    except ValueError:
        raise UserError(f"precision is '{given}'", "Give LABEL=SHARE, such as spam=0.99") from None

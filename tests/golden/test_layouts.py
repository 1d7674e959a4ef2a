"""Each layout of the oracle is read no worse than it was: right, or asks, or wrong, in this order. Better is welcome.

The verdicts are those of `oracle.layout.outcome`, which tests/oracle needs too: they are found once.
"""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from oracle.outcomes import outcomes_in

KEPT = Path(__file__).parent / "kept" / "verdicts.json"
ORDER = ("right", "asks", "wrong")  # the best first


def worse(kept: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """What was kept and is gone, or has a worse verdict now."""
    seen = {name: found.get(name, "gone") for name in kept}
    rank = [*ORDER, "gone"].index
    return {name: f"{kept[name]} -> {verdict}" for name, verdict in seen.items() if rank(verdict) > rank(kept[name])}


def write() -> None:
    """Keeps the verdicts of today."""
    with tempfile.TemporaryDirectory() as folder:
        verdicts = {name: found.verdict for name, found in outcomes_in(Path(folder)).items()}
    KEPT.write_text(json.dumps(verdicts, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


def test_no_layout_is_read_worse_than_before(shared: Path) -> None:
    kept, outcomes = json.loads(KEPT.read_text(encoding="utf-8")), outcomes_in(shared)
    assert len(kept) >= 275
    lost = worse(kept, {name: outcome.verdict for name, outcome in outcomes.items()})
    assert {name: f"{change}: {outcomes[name].seen if name in outcomes else ''}" for name, change in lost.items()} == {}

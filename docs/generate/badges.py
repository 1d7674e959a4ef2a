"""Badges of the README, drawn from pyproject.toml and the last measured run of the tests, never from a network."""

import json
import tomllib
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ROOT / "results" / "benchmarks" / "tests.json"  # benchmarks/tests_and_coverage.py writes it
LETTER = 7.0  # pixels of a letter, about
GOOD, BAD, PLAIN = "#1a7f37", "#b3261e", "#0b5cad"


def badges() -> dict[str, tuple[str, str, str]]:
    """By name: what it is about, its value and its colour. Without a measured run of the tests it has no badge."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    made = {
        "licence": ("licence", project["license"], PLAIN),
        "python": ("Python", project["requires-python"].replace(">=", "≥ "), PLAIN),
    }
    if MEASURED.is_file():
        made |= of_tests(json.loads(MEASURED.read_text(encoding="utf-8")))
    return made


def of_tests(measured: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    """The badges of a run of the tests: passed or failed, and the share of lines that ran."""
    failed = measured["failed"]
    tests = f"{failed:,} failed" if failed else f"{measured['passed']:,} passed"
    return {
        "tests": ("tests", tests, BAD if failed else GOOD),
        "coverage": ("coverage", f"{measured['coverage']:.0f} %", GOOD),
    }


def badges_line() -> str:
    """The badges as a README shows them."""
    return " ".join(
        f"![{what}: {value}](docs/pictures/badge-{name}.svg)" for name, (what, value, _) in badges().items()
    )


def badge_pictures() -> dict[str, str]:
    """Files of SVG by name."""
    return {f"badge-{name}.svg": _drawn(*badge) for name, badge in badges().items()}


def _drawn(what: str, value: str, colour: str) -> str:
    left, right = (round(LETTER * len(text)) + 12 for text in (what, value))
    size = f'width="{left + right}" height="20"'
    font = 'font-family="DejaVu Sans, Verdana, sans-serif" font-size="11" fill="#fff" text-anchor="middle"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>{escape(f"{what}: {value}")}</title>\n'
        f'<rect {size} rx="3" fill="#4a4f57"/><rect x="{left}" width="{right}" height="20" rx="3" fill="{colour}"/>\n'
        f'<g {font}><text x="{left / 2:g}" y="14">{escape(what)}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(value)}</text></g></svg>\n'
    )

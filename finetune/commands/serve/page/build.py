"""Joins the page of its parts, with the policy that lets a browser run and load nothing else."""

import base64
import hashlib
from dataclasses import dataclass
from importlib.resources import files

STYLES = (
    ("finetune.analysis.pages", "colours.css"),
    ("finetune.analysis.pages", "base.css"),
    (__package__, "style.css"),
)
SCRIPTS = ("words.js", "elements.js", "server.js", "forms.js", "answers.js", "explained.js", "page.js")


@dataclass(frozen=True, kw_only=True)
class ServedPage:
    """The page, and the Content-Security-Policy to send with it."""

    html: str
    policy: str


def served_page() -> ServedPage:
    """The page of all models: it asks `/about` for what they are."""
    style = "\n".join(_text(package, name) for package, name in STYLES)
    script = "\n".join(_text(__package__, name) for name in SCRIPTS)
    policy = policy_of(style, script)
    html = _text(__package__, "page.html")
    for name, text in (("{policy}", policy), ("{style}", style), ("{script}", script)):
        html = html.replace(name, text, 1)
    return ServedPage(html=html, policy=f"{policy}; frame-ancestors 'none'")  # which a page cannot say of itself


def policy_of(style: str, script: str) -> str:
    """The policy under which this style and script work, with calls of the server, and nothing else."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src 'sha256-{_digest(style)}'",
            f"script-src 'sha256-{_digest(script)}'",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        )
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _text(package: str | None, name: str) -> str:
    assert package is not None  # of a module in a package
    return files(package).joinpath(name).read_text(encoding="utf-8")

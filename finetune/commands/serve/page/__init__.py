"""The page at `/`: one HTML file, which asks the server alone and runs its own script alone."""

import base64
import hashlib
from importlib.resources import files

STYLES = ("analysis/pages/colours.css", "analysis/pages/base.css", "commands/serve/page/style.css")
SCRIPTS = ("words.js", "elements.js", "server.js", "forms.js", "answers.js", "page.js")
POLICY = (
    "default-src 'none'; style-src '{style}'; script-src '{script}'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
)


def served_page() -> tuple[str, str]:
    """The page, and the Content-Security-Policy to send with it: a browser runs and loads nothing else."""
    style = "\n".join(map(_text, STYLES))
    script = "\n".join(_text(f"commands/serve/page/{name}") for name in SCRIPTS)
    policy = POLICY.format(style=_digest(style), script=_digest(script))
    html = _text("commands/serve/page/page.html")
    for name, text in (("{policy}", policy), ("{style}", style), ("{script}", script)):
        html = html.replace(name, text, 1)
    return html, f"{policy}; frame-ancestors 'none'"  # which a page cannot say of itself


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _text(path: str) -> str:
    return (files("finetune") / path).read_text(encoding="utf-8")

"""The app's own pages: the question of its authorisation server, and what a person is told.

Plain HTML without script, under a strict policy. Every text is escaped and kept to its own writing
direction. Knows no OAuth and no rule: it shows what it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from urllib.parse import urlsplit

from starlette.responses import HTMLResponse, Response

STYLE_PATH = "/style.css"
STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --paper: #f4f6fa; --card: #ffffff;
  --line: #c9d1de; --main: #1a56c4; --on-main: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf2; --paper: #12161d; --card: #1c222c;
  --line: #3b4556; --main: #8ab4ff; --on-main: #10131a; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 1.5rem 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 34rem; margin: 0 auto; padding: 1.5rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .75rem; overflow-wrap: anywhere; }
h1 { margin: 0 0 1rem; font-size: 1.35rem; line-height: 1.25; }
ul { padding: 0; list-style: none; border-top: 1px solid var(--line); }
li { padding: .6rem 0; border-bottom: 1px solid var(--line); }
li strong { display: block; font-family: ui-monospace, monospace; }
form { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem; }
button { min-height: 2.75rem; padding: .5rem 1.5rem; font: inherit; font-weight: 600;
  border: 2px solid var(--main); border-radius: .5rem; background: var(--card);
  color: var(--main); cursor: pointer; }
button.main { background: var(--main); color: var(--on-main); }
button:focus-visible { outline: 3px solid var(--ink); outline-offset: 2px; }
code { font-family: ui-monospace, monospace; }
"""


def question_page(
    app: str, client: str, tools: Mapping[str, str], question_id: str, redirect_uri: str
) -> Response:
    """May this client use these tools? `tools` are names and what each does."""
    listed = "".join(
        f"<li><strong>{shown(name)}</strong>{shown(description)}</li>"
        for name, description in tools.items()
    )
    body = (
        f"<h1>Authorize {shown(client)}</h1>"
        f"<p>You have let this agent have these tools of {shown(app)}:</p>"
        f"<ul>{listed}</ul>"
        "<p>If you allow it, the agent can use them with your account, and nothing else.</p>"
        '<form method="post" autocomplete="off">'
        f'<input type="hidden" name="question" value="{escape(question_id)}">'
        '<button class="main" name="decision" value="allow">Allow</button>'
        '<button name="decision" value="deny">Deny</button>'
        "</form>"
    )
    # Browsers apply form-action to where a form's answer redirects as well.
    return page(f"Authorize {client}", body, form_action=f"'self' {origin(redirect_uri)}")


def message_page(title: str, text: str, status: int = 200) -> Response:
    return page(title, f"<h1>{shown(title)}</h1><p>{shown(text)}</p>", status)


def secret_page(title: str, secrets: Mapping[str, str]) -> Response:
    """Where a person copies what they need: a page of their own account."""
    rows = "".join(
        f"<li><strong>{shown(name)}</strong><code>{shown(value)}</code></li>"
        for name, value in secrets.items()
    )
    return page(title, f"<h1>{shown(title)}</h1><ul>{rows}</ul>")


def page(title: str, body: str, status: int = 200, form_action: str = "'none'") -> Response:
    """`body` is HTML already."""
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>"
        f'<link rel="stylesheet" href="{STYLE_PATH}"></head>'
        f"<body><main>{body}</main></body></html>"
    )
    policy = (
        f"default-src 'none'; style-src 'self'; form-action {form_action}; "
        "frame-ancestors 'none'; base-uri 'none'"
    )
    headers = {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        # Not no-referrer: a form's Origin would be "null" then.
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
    return HTMLResponse(text, status, headers)


def shown(text: str) -> str:
    return f"<bdi>{escape(text)}</bdi>"


def origin(url: str) -> str:
    """Of a registered address; "'none'" for one that a policy could not name."""
    parts = urlsplit(url)
    named = f"{parts.scheme}://{parts.netloc}"
    return named if all(letter.isalnum() or letter in ".:/-[]" for letter in named) else "'none'"

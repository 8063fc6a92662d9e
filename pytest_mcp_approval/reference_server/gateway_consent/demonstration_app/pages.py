"""The app's own pages: the question of its authorisation server, and what a person is told.

Layout and headers are those of all pages here. Every text is escaped and kept to its own writing
direction. Knows no OAuth and no rule: it shows what it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from urllib.parse import urlsplit

from starlette.responses import Response

from ..pages import page


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
        '<button class="go" name="decision" value="allow">Allow</button>'
        '<button name="decision" value="deny">Deny</button>'
        "</form>"
    )
    # Browsers apply form-action to where a form's answer redirects as well.
    return page(escape(f"Authorize {client}"), body, form_action=f"'self' {origin(redirect_uri)}")


def message_page(title: str, text: str, status: int = 200) -> Response:
    return page(escape(title), f"<h1>{shown(title)}</h1><p>{shown(text)}</p>", status)


def secret_page(title: str, secrets: Mapping[str, str]) -> Response:
    """Where a person copies what they need: a page of their own account."""
    rows = "".join(
        f"<li><strong>{shown(name)}</strong><code>{shown(value)}</code></li>"
        for name, value in secrets.items()
    )
    return page(escape(title), f"<h1>{shown(title)}</h1><ul>{rows}</ul>")


def shown(text: str) -> str:
    return f"<bdi>{escape(text)}</bdi>"


def origin(url: str) -> str:
    """Of a registered address; "'none'" for one that a policy could not name."""
    parts = urlsplit(url)
    named = f"{parts.scheme}://{parts.netloc}"
    return named if all(letter.isalnum() or letter in ".:/-[]" for letter in named) else "'none'"

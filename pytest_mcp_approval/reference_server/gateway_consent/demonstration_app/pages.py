"""The app's own pages: the question of its authorisation server, and a person's secrets.

Layout, headers and safe text are shared with the gateway's pages. Knows no OAuth and no rule: it
shows what it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from urllib.parse import urlsplit

from starlette.responses import Response

from ...server.pages import hidden, page, shown


def question_page(
    app: str, client: str, tools: Mapping[str, str], question_id: str, redirect_uri: str
) -> Response:
    """May this client use these tools? `tools` has names, and what each tool does."""
    body = (
        f"<h1>Authorize {shown(client)}</h1>"
        f"<p>You have allowed this agent these tools of {shown(app)}:</p>"
        f"{_listed({name: shown(description) for name, description in tools.items()})}"
        "<p>If you allow it, the agent can use them with your account, and nothing else.</p>"
        f'<form method="post" autocomplete="off">{hidden("question", question_id)}'
        '<button class="go" name="decision" value="allow">Allow</button>'
        '<button name="decision" value="deny">Deny</button>'
        "</form>"
    )
    # Browsers also apply form-action to a form's redirect, which leads to a registered address.
    back = "{0.scheme}://{0.netloc}".format(urlsplit(redirect_uri))
    return page(escape(f"Authorize {client}"), body, form_action=f"'self' {back}")


def secret_page(title: str, secrets: Mapping[str, str]) -> Response:
    """A page of a person's own account, from which they copy what they need."""
    rows = {name: f"<code>{shown(value)}</code>" for name, value in secrets.items()}
    return page(escape(title), f"<h1>{shown(title)}</h1>{_listed(rows)}")


def _listed(rows: Mapping[str, str]) -> str:
    items = (f"<li><strong>{shown(name)}</strong>{html}</li>" for name, html in rows.items())
    return f"<ul>{''.join(items)}</ul>"

"""What pages for people share: layout, style, headers, safe text, and who may send a form.

Plain HTML without any script. Whatever is not ours is escaped, isolated from the
direction of its neighbours, and every character of it can be seen. Knows no family.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from .visible_text import visible

if TYPE_CHECKING:
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

STYLE_PATH = "/style.css"
_POLICY = (
    "default-src 'none'; style-src 'self'; form-action {}; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY.format("'self'"),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: browsers would then send "null" for the origin of our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LONG = 1500
"""A text with more characters of HTML than this scrolls in a box of its own."""
MOST_SHOWN = 20_000
_HEADING = 60


class FormError(ValueError):
    """A form that is not accepted; the message is for the person."""


# ---- safe text


def shown(text: str) -> str:
    """HTML of a text that is not ours, on as many lines as it has."""
    lines = text[:MOST_SHOWN].split("\n")
    html = "\n".join(escape(visible(line)) for line in lines)
    if len(text) > MOST_SHOWN:
        html += f" (and {len(text) - MOST_SHOWN} characters more)"
    return f"<bdi>{html}</bdi>"


def shown_shortly(text: str) -> str:
    """HTML of a text that is not ours, for a heading or a sentence."""
    line = visible(text[: _HEADING + 1])
    short = line if len(text) <= _HEADING else f"{line[:_HEADING]}…"
    return f"<bdi>{escape(short)}</bdi>"


def field(name: str, text: str, *, code: bool = False) -> str:
    """A row of a description list; `name` is ours, `text` is not."""
    return row(name, f"<code>{shown(text)}</code>" if code else shown(text))


def row(name: str, html: str) -> str:
    """A row of a description list; both are ours, or were made safe."""
    if len(html) > LONG or html.count("\n") > 5:
        # It can be reached and scrolled by keyboard.
        html = (
            f'<div class="long" role="group" tabindex="0" aria-label="{escape(name)}">{html}</div>'
        )
    return f"<dt>{escape(name)}</dt><dd>{html}</dd>"


# ---- pages


def page(title: str, body: str, status: int = 200, *, form_action: str = "'self'") -> Response:
    """A whole page; `title` and `body` are HTML. Forms may go where `form_action` says."""
    from starlette.responses import HTMLResponse

    return HTMLResponse(
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title}</title><link rel="stylesheet" href="{STYLE_PATH}"></head>\n'
        f"<body><main>\n{body}\n</main></body></html>\n",
        status,
        {**HEADERS, "Content-Security-Policy": _POLICY.format(form_action)},
    )


def message(title: str, text: str, status: int = 200) -> Response:
    """A page that says one thing; both are plain text of ours."""
    return page(escape(title), f"<h1>{escape(title)}</h1>\n<p>{escape(text)}</p>", status)


def no_default_button(name: str) -> str:
    """First in a form: Enter in a field presses the first button, even one that is not shown. This
    one makes no choice, so that nobody agrees by accident (a disabled one would be skipped)."""
    return f'<button hidden tabindex="-1" name="{escape(name)}" value=""></button>'


def hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'


def style_routes() -> list[Route]:
    from starlette.responses import Response
    from starlette.routing import Route

    text = Path(__file__).with_name("pages.css").read_text(encoding="utf-8")

    async def style(request: Request) -> Response:  # noqa: ARG001
        return Response(text, media_type="text/css", headers={"X-Content-Type-Options": "nosniff"})

    return [Route(STYLE_PATH, style, methods=["GET"])]


# ---- forms


async def read_form(request: Request) -> dict[str, str]:
    """The members of a form that one of our own pages sent; `FormError` otherwise."""
    if not from_own_page(request.headers):
        raise FormError("This form was sent by another page.")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise FormError("This is not one of our forms.")
    try:
        text = (await request.body()).decode("ascii")
        members = parse_qs(
            text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=20,
            errors="strict",
        )  # fmt: skip
    except ValueError:
        raise FormError("This form cannot be read.") from None
    if any(len(values) != 1 for values in members.values()):
        raise FormError("This form says something twice.")
    return {name: values[0] for name, values in members.items()}


def from_own_page(headers: Mapping[str, str]) -> bool:
    """A browser says where a form comes from; a page cannot make other programs send one."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if site is not None and site != "same-origin":
        return False
    return origin is None or origin == f"http://{headers.get('host')}"


def guarded(routes: list[Route], security: TransportSecuritySettings) -> list[Route]:
    """The same pages, for the hosts and origins that `security` allows."""
    from mcp.server.transport_security import TransportSecurityMiddleware
    from starlette.routing import Route

    def behind(show: Callable[[Request], Awaitable[Response]]) -> Any:
        async def answer(request: Request) -> Response:
            refusal = await TransportSecurityMiddleware(security).validate_request(request)
            return refusal or await show(request)

        return answer

    return [
        Route(one.path, behind(one.endpoint), methods=list(one.methods or ())) for one in routes
    ]

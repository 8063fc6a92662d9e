"""What the reference server serves to a browser: one page, its files, and the policy around them.

The files are the ones beside this module, listed by name, so that nothing else can be asked for.
The page itself speaks MCP; this module knows only where the endpoint is, and whom to ask for a
user's passkeys.
"""

from __future__ import annotations

import html
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .bundle import bundled

FOLDER = Path(__file__).parent
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_START = "main.js"
"""The script that the page names; the other modules are sent along with it."""
_ENDPOINT = 'data-endpoint="/mcp"'
"""The endpoint in index.html, which is replaced by the real one."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",  # the icon
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": (
        "publickey-credentials-create=(self), publickey-credentials-get=(self), "
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()"
    ),
    # The page's content may change with the next start of the server.
    "Cache-Control": "no-store",
}

Handler = Callable[[Request], Awaitable[Response]]


def page_routes(
    security: TransportSecuritySettings,
    endpoint: str,
    passkeys: Callable[[Request], list[dict[str, Any]]],
    served: Callable[[str, bytes], bytes] = lambda _, content: content,
) -> list[Route]:
    """`/`, `/pages/<file>` and `/passkeys`, for the hosts and origins that `security` allows.

    `served` may change the content of a file.
    """
    page = (FOLDER / "index.html").read_text(encoding="utf-8")
    page = page.replace(_ENDPOINT, f'data-endpoint="{html.escape(endpoint)}"', 1)

    @cache
    def files() -> dict[str, tuple[bytes, str]]:
        """Put together when a browser first asks: most servers are started for MCP only."""
        contents = {
            path.name: served(path.name, path.read_bytes())
            for path in sorted(FOLDER.iterdir())
            if path.suffix in _TYPES
        }
        scripts = {name: text.decode() for name, text in contents.items() if name.endswith(".js")}
        contents[_START] = bundled(scripts, _START).encode()
        return {name: (content, _TYPES[Path(name).suffix]) for name, content in contents.items()}

    def guarded(answer: Callable[[Request], Response]) -> Handler:
        async def handler(request: Request) -> Response:
            refusal = await TransportSecurityMiddleware(security).validate_request(request)
            response = refusal or answer(request)
            response.headers.update(HEADERS)
            return response

        return handler

    def index(request: Request) -> Response:  # noqa: ARG001
        return Response(page, media_type="text/html")

    def file(request: Request) -> Response:
        content, media_type = files().get(request.path_params["name"], (None, None))
        if content is None:
            return Response("No such file", status_code=404, media_type="text/plain")
        return Response(content, media_type=media_type)

    def enrolled(request: Request) -> Response:
        return JSONResponse(passkeys(request))

    return [
        Route("/", guarded(index), methods=["GET"]),
        Route("/pages/{name}", guarded(file), methods=["GET"]),
        Route("/passkeys", guarded(enrolled), methods=["GET"]),
    ]

"""A person at the gateway's consent page: presses a button, rightly or with a fault in the form."""

from __future__ import annotations

from urllib.parse import urlencode, urljoin, urlsplit

from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice
from tests.reference_server.gateway_consent.visitor import FORM, Page, Visitor


def request(
    url: str,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
) -> Page:
    """By somebody who was never here: without a cookie but those in the headers."""
    return Visitor().request(method, url, body, headers)


def choose(
    url: str,
    choice: Choice | str,
    *,
    remember: bool = False,
    page: Page | None = None,
    members: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> Page:
    """Open the page, tick the box or not, press a button. `members` and `headers` are faults."""
    page = page or request(url)
    form = {**page.form.hidden, "choice": str(choice), **({"remember": "yes"} if remember else {})}
    form.update(members or {})
    sent = {
        "Content-Type": FORM,
        "Origin": f"http://{urlsplit(url).netloc}",
        "Cookie": "; ".join(f"{name}={value}" for name, value in page.cookies.items()),
        **(headers or {}),
    }
    return request(
        urljoin(url, page.form.action),
        "POST",
        {name: value for name, value in sent.items() if value != "<none>"},
        urlencode({name: value for name, value in form.items() if value != "<none>"}).encode(),
    )

"""A person's browser, as far as plain pages go: cookies, redirects, forms. Standard library only.

Addresses come from the server under test, which may be hostile: pages are fetched only from
loopback or the target's own host, no proxy is used, everything is bounded. Scripts are not run.
Knows nothing about consent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import SplitResult, urlencode, urljoin, urlsplit

from ...support.connection import is_loopback
from ...support.fetch import FetchError, fetch
from ...support.text import neutralise
from .driver import DriverError

_MOST_BYTES = 2 * 1024 * 1024
_MOST_REDIRECTS = 10
_REDIRECTS = (301, 302, 303, 307, 308)


class FormClientError(DriverError):
    """A page could not be fetched or lacks something; one line says so."""


@dataclass
class FormControl:
    """A field or a button of a form."""

    kind: str
    name: str
    value: str = ""
    label: str = ""
    """The text on it or beside it."""
    checked: bool = False
    disabled: bool = False
    id: str = ""
    action: str = ""
    method: str = ""
    """For a button: where it sends the form, if that is elsewhere (formaction, formmethod)."""


@dataclass
class Form:
    """One form of a page."""

    action: str = ""
    method: str = "get"
    controls: list[FormControl] = field(default_factory=list)

    def button(self, text: str) -> FormControl | None:
        buttons = [one for one in self.controls if one.kind in ("submit", "button")]
        named = [one for one in buttons if _plain(text) in (_plain(one.label), _plain(one.value))]
        return next((one for one in named if not one.disabled), None)

    def box(self, text: str) -> FormControl | None:
        boxes = [one for one in self.controls if one.kind == "checkbox"]
        return next((one for one in boxes if _plain(text) in _plain(one.label)), None)

    def fields(self) -> list[FormControl]:
        """The fields that a person types into."""
        typed = ("text", "password", "textarea", "search", "email", "url")
        return [one for one in self.controls if one.kind in typed and not one.disabled]

    def members(self, pressed: FormControl | None) -> list[tuple[str, str]]:
        """What a browser would send."""
        found = []
        for one in self.controls:
            if not one.name or one.disabled:
                continue
            is_button = one.kind in ("submit", "button", "reset", "image")
            unset = one.kind in ("checkbox", "radio") and not one.checked
            if unset or (is_button and one is not pressed):
                continue
            found.append((one.name, one.value or ("on" if one.kind == "checkbox" else "")))
        return found


@dataclass(frozen=True)
class FetchedPage:
    """What came from an address."""

    url: str
    status: int
    headers: Mapping[str, str]
    """With names in lower case."""
    body: bytes

    @property
    def location(self) -> str:
        """Where it redirects the browser; "" if it does not, or to no address."""
        target = self.headers.get("location", "")
        try:
            return urljoin(self.url, target) if self.status in _REDIRECTS and target else ""
        except ValueError:
            return ""

    def forms(self) -> list[Form]:
        reader = _FormReader()
        reader.feed(self.body.decode("utf-8", "replace"))
        reader.close()
        return reader.finished()

    def form_with(self, button: str, advice: str) -> Form:
        """The form with this button; `advice` says what to do if there is none."""
        for form in self.forms():
            if form.button(button):
                return form
        raise FormClientError(
            f"{neutralise(self.url, 60)}: {self.describe()} without a button {button!r}; {advice}"
        )

    def describe(self) -> str:
        where = f" to {neutralise(self.location, 80)}" if self.location else ""
        return f"HTTP {self.status}{where}"


class FormClient:
    """Keeps cookies as long as it lives. Fetches from loopback and from `hosts`."""

    def __init__(
        self,
        hosts: Collection[str] = (),
        timeout: float = 10.0,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`headers` are the person's own, a login say: they go to the first page's server only."""
        self._hosts = frozenset(host.lower() for host in hosts)
        self._timeout = timeout
        self._headers = dict(headers or {})
        self._home = ""
        self._cookies: dict[tuple[str, str], tuple[str, str]] = {}
        """Value and path by host and name; ports share them, as in browsers."""
        self.visited: list[FetchedPage] = []

    def copy(self) -> FormClient:
        """Another client with the same cookies, which can then be removed from one of the two."""
        other = FormClient(self._hosts, self._timeout, self._headers)
        other._cookies, other._home = dict(self._cookies), self._home
        return other

    def get(self, url: str, *, follow: bool = True) -> FetchedPage:
        return self.fetch("GET", url, follow=follow)

    def submit(
        self,
        page: FetchedPage,
        form: Form,
        pressed: FormControl | None = None,
        *,
        follow: bool = True,
    ) -> FetchedPage:
        """Send a form of that page, as pressing its button does."""
        action = (pressed.action if pressed else "") or form.action
        url = urljoin(page.url, action) if action else page.url
        data = urlencode(form.members(pressed))
        if ((pressed.method if pressed else "") or form.method).lower() == "post":
            parts = urlsplit(page.url)
            headers = {"Origin": f"{parts.scheme}://{parts.netloc}", "Referer": page.url}
            return self.fetch("POST", url, data, headers, follow=follow)
        return self.fetch("GET", f"{url.partition('?')[0]}?{data}", follow=follow)

    def fetch(
        self,
        method: str,
        url: str,
        data: str | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        follow: bool = True,
    ) -> FetchedPage:
        for _ in range(_MOST_REDIRECTS):
            page = self._once(method, url, data, headers or {})
            self.visited.append(page)
            if not follow or not page.location:
                return page
            if urlsplit(url)[:2] != urlsplit(page.location)[:2]:
                headers = {}  # they were meant for the first server only
            url = page.location
            if page.status in (301, 302, 303):
                method, data, headers = "GET", None, {}
        raise FormClientError(f"{neutralise(url, 80)}: more than {_MOST_REDIRECTS} redirects")

    def _once(
        self, method: str, url: str, data: str | None, headers: Mapping[str, str]
    ) -> FetchedPage:
        parts = check_address(url, self._hosts)
        sent = {"Accept": "text/html, application/json", "Connection": "close"}
        self._home = self._home or parts.netloc
        if parts.netloc == self._home:
            sent |= self._headers
        sent |= headers
        cookies = [sent.pop("Cookie", ""), self._cookies_for(parts)]
        if any(cookies):
            sent["Cookie"] = "; ".join(filter(None, cookies))
        if data is not None:
            sent.setdefault("Content-Type", "application/x-www-form-urlencoded")
        try:
            answer = fetch(
                url.partition("#")[0],
                seconds=self._timeout,
                method=method,
                headers=sent,
                body=(data or "").encode(),
                limit=_MOST_BYTES,
                follow=False,
            )
        except FetchError as error:
            raise FormClientError(f"{neutralise(url, 80)}: {error}") from None
        self._keep_cookies(parts, answer.all_of("set-cookie"))
        # The last header of a name counts, as in any reader that keeps one of each.
        names = {name.lower(): value for name, value in answer.headers}
        return FetchedPage(url, answer.status, names, answer.body)

    def _cookies_for(self, parts: SplitResult) -> str:
        host = (parts.hostname or "").lower()
        path = parts.path or "/"
        return "; ".join(
            f"{name}={value}"
            for (own, name), (value, below) in self._cookies.items()
            if own == host and (path == below or path.startswith(f"{below.rstrip('/')}/"))
        )

    def _keep_cookies(self, parts: SplitResult, given: Iterable[str]) -> None:
        host = (parts.hostname or "").lower()
        for line in given:
            (name, _, value), *rest = (part.strip().partition("=") for part in line.split(";"))
            attributes = {key.lower(): own for key, _, own in rest}
            path = attributes.get("path", "")
            if not path.startswith("/"):
                path = parts.path.rpartition("/")[0] or "/"
            if attributes.get("max-age", "").strip() in ("0", "-1"):
                self._cookies.pop((host, name), None)
            else:
                self._cookies[host, name] = (value, path)


def check_address(url: str, hosts: Collection[str]) -> SplitResult:
    """The parts of an address that may be fetched; `FormClientError` for any other."""
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise FormClientError(f"got {neutralise(url, 80)}, expected a URL") from None
    if parts.scheme not in ("http", "https") or not host:
        raise FormClientError(
            f"got {neutralise(url, 80)}, which is no page: say who decides instead, "
            "hook:<command or URL> (person in the family's table)"
        )
    if host not in hosts and not is_loopback(host):
        raise FormClientError(
            f"got {neutralise(url, 80)}, expected a page on loopback or on the target's host"
        )
    return parts


def _plain(text: str) -> str:
    return " ".join(text.split())


class _FormReader(HTMLParser):
    """Collects forms with their labels."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._forms: list[Form] = []
        self._labels: dict[str, str] = {}
        self._label: list[str] | None = None
        self._label_for = ""
        self._labelled: FormControl | None = None
        self._open: FormControl | None = None
        """The button or text area that the text belongs to."""
        self._hidden = False

    def finished(self) -> list[Form]:
        for form in self._forms:
            for control in form.controls:
                control.label = control.label or self._labels.get(control.id, "")
        return self._forms

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("script", "style"):
            self._hidden = True
        elif tag == "form":
            self._forms.append(Form(given.get("action", ""), given.get("method", "get")))
        elif tag == "label":
            self._label, self._label_for, self._labelled = [], given.get("for", ""), None
        elif tag in ("input", "button", "textarea") and self._forms:
            self._control(tag, given)

    def _control(self, tag: str, given: Mapping[str, str]) -> None:
        kind = given.get("type", "").lower() or {"input": "text", "button": "submit"}.get(tag, tag)
        control = FormControl(
            kind,
            given.get("name", ""),
            given.get("value", ""),
            label=given.get("aria-label", ""),
            checked="checked" in given,
            disabled="disabled" in given,
            id=given.get("id", ""),
            action=given.get("formaction", ""),
            method=given.get("formmethod", ""),
        )
        self._forms[-1].controls.append(control)
        if self._label is not None:
            self._labelled = control
        if tag != "input":
            self._open = control

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._hidden = False
        elif tag == "label" and self._label is not None:
            text = _plain("".join(self._label))
            if self._labelled is not None:
                self._labelled.label = self._labelled.label or text
            elif self._label_for:
                self._labels[self._label_for] = text
            self._label = None
        elif tag in ("button", "textarea"):
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if self._label is not None:
            self._label.append(data)
        if self._open is not None and self._open.kind == "textarea":
            self._open.value += data
        elif self._open is not None:
            self._open.label = _plain(f"{self._open.label} {data}")

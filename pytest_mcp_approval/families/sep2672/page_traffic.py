"""What a page and its server say to each other, as the browser sees it; and how to change it on the
way.

    traffic = Traffic(context)
    traffic.change_answer("approval/challenge/create", lambda message: ...)
    ...
    [call] = traffic.of("tools/call")
    assert call.params["name"] == "place_trade"

Sees the JSON-RPC requests that pages of the context send by HTTP. A page whose own server speaks
MCP shows nothing here. Knows no specification.
"""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...support.deadline import Deadline
from ...support.json_reading import JsonError, read_json
from ...support.recording import note
from ...support.secrets import beginning
from ...support.text import neutralise
from ...wire.sse import EventReader
from ..base.paths import value_at

if TYPE_CHECKING:
    from playwright.sync_api import APIResponse, BrowserContext, Request, Route

Message = dict[str, Any]
Change = Callable[[Message], Message]
Hand = Callable[["Route", Message], None]
"""Deals with a request instead of the network."""

_LARGEST = 4_000_000
_LONGEST_TOLD = 4_000
_MOST = 2_000
"""Requests of one test that are kept."""
_ANSWER_MILLISECONDS = 10_000.0
_STEP_MILLISECONDS = 5.0
_LET_GO = "net::ERR_ABORTED"
"""The browser's word for a request that the page itself ended."""
_OF_THE_BODY = ("content-length", "content-type", "content-encoding", "transfer-encoding")


@dataclass(eq=False)
class PageRequest:
    message: Message
    url: str
    request: Request = field(repr=False)
    await_end: Callable[[Request], bool] = field(default=lambda _: True, repr=False)
    """Waits until its answer can be read, within a deadline; False if it cannot."""

    @property
    def method(self) -> str:
        return str(self.message.get("method"))

    @property
    def params(self) -> Mapping[str, Any]:
        return self._object("params")

    @property
    def meta(self) -> Mapping[str, Any]:
        return self._object("params._meta")

    def _object(self, path: str) -> Mapping[str, Any]:
        found = value_at(self.message, path)
        return found if isinstance(found, dict) else {}

    def answer(self) -> Message | None:
        """The message that the page got for it; None if it got none that can be read."""
        from playwright.sync_api import Error

        # Playwright would wait for ever for an answer that never comes, or never ends.
        with contextlib.suppress(Error):
            response = self.request.response() if self.await_end(self.request) else None
            if response is not None:
                return message_in(response.body(), self.message.get("id"))
        return None

    @property
    def is_hidden(self) -> bool:
        """The server answered, but the browser does not show what: the page dropped the request
        before its end, like a client that has read its event and needs no more."""
        from playwright.sync_api import Error

        if self.answer() is not None or not self.await_end(self.request):
            return False
        if self.request.failure == _LET_GO:
            return True
        try:
            response = self.request.response()
            return response is not None and not response.body()
        except Error:
            return True

    @property
    def result(self) -> Mapping[str, Any] | None:
        """The result of the answer, if it is an object."""
        result = value_at(self.answer(), "result")
        return result if isinstance(result, dict) else None

    @property
    def reason(self) -> str | None:
        """`error.data.reason` of the answer."""
        reason = value_at(self.answer(), "error.data.reason")
        return reason if isinstance(reason, str) else None


class Traffic:
    """Between the pages of one context and their server."""

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self.sent: list[PageRequest] = []
        """In order."""
        self._hands: dict[str, Hand] = {}
        self._routed = False
        self._ended: set[Request] = set()
        context.on("request", self._seen)
        context.on("requestfinished", self._over)
        context.on("requestfailed", self._over)

    @property
    def open(self) -> bool:
        """Whether a request is still open."""
        return any(one.request not in self._ended for one in self.sent)

    def of(self, *methods: str) -> list[PageRequest]:
        """The requests with these methods, in order."""
        return [one for one in self.sent if one.method in methods]

    # ---- changing messages on the way

    def change_answer(self, method: str, change: Change) -> None:
        """The page gets what `change` makes of the server's message."""

        def hand(route: Route, asked: Message) -> None:
            response = route.fetch(timeout=_ANSWER_MILLISECONDS, max_redirects=0)
            came = message_in(response.body(), asked.get("id"))
            if came is None:
                route.fulfill(response=response)
            else:
                _answer(route, asked, change(came), response)

        self._take(method, hand)

    def change_request(self, method: str, change: Change) -> None:
        """The server gets what `change` makes of the page's message."""

        def hand(route: Route, asked: Message) -> None:
            changed = change(copy.deepcopy(asked))
            headers = {k: v for k, v in route.request.headers.items() if k != "content-length"}
            name = changed.get("params", {}).get("name")
            if "mcp-name" in headers and isinstance(name, str):
                headers["mcp-name"] = name  # 2026-07-28 has it in a header too
            route.continue_(post_data=json.dumps(changed), headers=headers)

        self._take(method, hand)

    def answer_instead(self, method: str, answer: Message | str) -> None:
        """The server gets nothing. The page gets this message's result or error; a text such as
        "connectionreset" is how the connection ends."""
        self._take(method, lambda route, asked: _answer(route, asked, answer))

    def leave_alone(self) -> None:
        """From now on nothing is changed."""
        self._hands.clear()

    # ---- how it is done

    def _seen(self, request: Request) -> None:
        for message in _messages(request):
            if len(self.sent) < _MOST:
                self.sent.append(PageRequest(message, request.url, request, self._await_end))
                note("page", f"the page sends {_named(message)}", message=_told(message))

    def _over(self, request: Request) -> None:
        self._ended.add(request)

    def _await_end(self, request: Request) -> bool:
        deadline = Deadline(_ANSWER_MILLISECONDS / 1000)
        while request not in self._ended and not deadline.passed:
            page = next((one for one in self._context.pages if not one.is_closed()), None)
            if page is None:
                break
            page.wait_for_timeout(_STEP_MILLISECONDS)
        return request in self._ended

    def _take(self, method: str, hand: Hand) -> None:
        self._hands[method] = hand
        if not self._routed:
            self._routed = True
            self._context.route("**/*", self._pass_on)

    def _pass_on(self, route: Route) -> None:
        from playwright.sync_api import Error

        # A test that ends meanwhile closes the page, and nobody waits for an answer any more.
        with contextlib.suppress(Error):
            messages = _messages(route.request)
            hand = self._hands.get(messages[0]["method"]) if len(messages) == 1 else None
            if hand is not None:
                hand(route, messages[0])
            else:
                route.continue_()


def _answer(
    route: Route, asked: Message, answer: Message | str, response: APIResponse | None = None
) -> None:
    if isinstance(answer, str):
        route.abort(answer)
        return
    whole = {"jsonrpc": "2.0", "id": asked.get("id"), **answer}
    note("page", f"the answer to {_named(asked)} is changed", message=_told(whole))
    kept = {} if response is None else response.headers
    headers = {k: v for k, v in kept.items() if k.lower() not in _OF_THE_BODY}
    # In plain ASCII: half of a surrogate pair can only be sent as an escape.
    route.fulfill(
        status=200 if response is None else response.status,
        headers={**headers, "content-type": "application/json"},
        body=json.dumps(whole),
    )


def _messages(request: Request) -> list[Message]:
    """The JSON-RPC requests in a request of the page."""
    if request.method != "POST":
        return []
    try:
        body = request.post_data_buffer
        if not body or len(body) > _LARGEST or b'"jsonrpc"' not in body:
            return []
        found = read_json(body)
    except ValueError:
        return []
    listed = found if isinstance(found, list) else [found]
    return [one for one in listed if isinstance(one, dict) and isinstance(one.get("method"), str)]


def message_in(body: bytes, wanted: Any) -> Message | None:
    """The answer with this id, from JSON or an event stream."""
    if len(body) > _LARGEST:
        return None
    texts = (
        [body]
        if body.lstrip()[:1] in (b"{", b"[")
        else [one.data for one in EventReader().feed(body + b"\n\n")]
    )
    for one in texts:
        try:
            found = read_json(one)
        except JsonError:
            continue
        for message in found if isinstance(found, list) else [found]:
            if not isinstance(message, dict) or "jsonrpc" not in message or "method" in message:
                continue
            if message.get("id") == wanted:
                return message
    return None


def _named(message: Message) -> str:
    name = value_at(message, "params.name")
    return neutralise(f"{message['method']} {name}" if name else message["method"], 100)


def _told(message: Message) -> str:
    return beginning(json.dumps(message), _LONGEST_TOLD)

"""A visit to the page in a real browser: to the real server, or to one that obeys the test."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from playwright.sync_api import Browser, Dialog, Locator, Page, Route

from pytest_mcp_approval.families.sep2672.vocabulary import META_KEY
from pytest_mcp_approval.reference_server import ReferenceServer, SettableClock, build
from tests.reference_server.running import serving

MILLISECONDS = 20_000
TRADE = {"symbol": "ACME", "quantity": 10}
CHALLENGE = "a" * 86
"""64 bytes, as base64url writes them."""


class Site:
    """The reference server over HTTP, with its page on localhost."""

    def __init__(self, **options: Any) -> None:
        self.clock = SettableClock()
        self.server: ReferenceServer = build(clock=self.clock)
        self._running = contextlib.ExitStack()
        port = self._running.enter_context(serving(self.server, **options))
        self.port = port
        self.url = f"http://localhost:{port}/"
        self.server.extension("sep2672").gate.relying_party.accept_origin(self.url.rstrip("/"))

    def stop(self) -> None:
        self._running.close()

    def close(self) -> None:
        self.stop()
        self.server.close()


class Visit:
    """One page of one browser, with Chromium's own virtual authenticator on request."""

    def __init__(self, browser: Browser) -> None:
        self._context = browser.new_context(viewport={"width": 1240, "height": 900})
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(MILLISECONDS)
        self.problems: list[str] = []
        self.warnings: list[str] = []
        self.sent: list[dict[str, Any]] = []
        """Every JSON-RPC message of the page."""
        self.sessions: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", self._asked)
        self.page.on("console", self._heard)
        self.page.on("request", self._saw)

    def _asked(self, dialog: Dialog) -> None:
        self.problems.append(dialog.message)
        dialog.dismiss()

    def close(self) -> None:
        self._context.close()

    def _heard(self, said: Any) -> None:
        if said.type == "error":
            self.problems.append(said.text)
        elif said.type == "warning":
            self.warnings.append(said.text)

    def _saw(self, request: Any) -> None:
        if request.method == "POST":
            self.sent.append(json.loads(request.post_data))
            if session := request.headers.get("mcp-session-id"):
                self.sessions.append(session)

    def methods(self) -> list[str]:
        return [message["method"] for message in self.sent]

    def params_of(self, method: str) -> list[dict[str, Any]]:
        return [message["params"] for message in self.sent if message["method"] == method]

    def attach_key(self, transport: str = "usb") -> None:
        """An authenticator that says yes at once."""
        session = self._context.new_cdp_session(self.page)
        session.send("WebAuthn.enable")
        options = {"protocol": "ctap2", "transport": transport, "hasResidentKey": True}
        options |= {"hasUserVerification": True, "isUserVerified": True}
        session.send("WebAuthn.addVirtualAuthenticator", {"options": options})

    def hold_prompts(self) -> None:
        """Prompts stay open until `release_prompts`, or until the page cancels them."""
        self.page.add_init_script(
            """let release; const held = new Promise(go => { release = go; });
            globalThis.releasePrompts = () => { release(); };
            for (const name of ["create", "get"]) {
              const own = CredentialsContainer.prototype[name];
              CredentialsContainer.prototype[name] = function (options) {
                const left = new Promise((_, reject) => options.signal?.addEventListener("abort",
                  () => reject(options.signal.reason)));
                return Promise.race([left, held.then(() => own.call(this, options))]);
              };
            }"""
        )

    def release_prompts(self) -> None:
        self.page.evaluate("releasePrompts()")

    def open(self, url: str, state: str = "connected") -> Page:
        self.page.goto(url)
        self.page.wait_for_selector(f"html[data-ready={state}]", state="attached")
        return self.page

    # ---- what a person does

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def choose(self, tool: str) -> None:
        self.page.locator(f"button[data-tool='{tool}']").click()

    def enrol(self) -> Locator:
        self.button("Enrol a passkey").click()
        return self.outcome("enrolment")

    def fill_trade(self) -> None:
        self.choose("place_trade")
        self.page.get_by_label("symbol").fill("ACME")
        self.page.get_by_label("quantity").fill("10")

    def ask(self) -> Locator:
        """Up to the review; returns displayText."""
        self.button("Ask for approval").click()
        self.button("Approve").wait_for()
        return self.page.get_by_role("region", name="What you approve")

    def approve(self) -> Locator:
        self.button("Approve").click()
        return self.outcome("call")

    def outcome(self, of: str) -> Locator:
        place = self.page.get_by_role("region", name=f"Outcome of the {of}")
        place.wait_for()
        return place


class Scripted:
    """Answers instead of the server: a result, an error, or what a function makes of the params."""

    def __init__(self, visit: Visit, **answers: Any) -> None:
        self.capabilities: dict[str, Any] = {"extensions": {"verifiedApproval": {"of": "later"}}}
        self.tools: list[dict[str, Any]] = [listing("act"), listing("look", gated=False)]
        self.results: dict[str, Any] = {"tools/call": {"content": [], "isError": False}}
        self.errors: dict[str, dict[str, Any]] = {}
        self.envelope: dict[str, Any] = {
            "challengeId": "c-1",
            "displayText": "Do it",
            "expiresAt": "2030-01-01T12:00:00.000Z",
            "requestOptions": {"challenge": CHALLENGE, "rpId": "localhost"},
        }
        for name, value in answers.items():
            setattr(self, name, value)
        visit.page.route("**/mcp", self._answer)

    def _answer(self, route: Route) -> None:
        message = json.loads(route.request.post_data or "{}")
        method = message["method"]
        answer = {"jsonrpc": "2.0", "id": message.get("id")}
        if method in self.errors:
            answer["error"] = self.errors[method]
        else:
            answer["result"] = self._result(method)
        route.fulfill(content_type="application/json", body=json.dumps(answer))

    def _result(self, method: str) -> Any:
        if method == "server/discover":
            return {"supportedVersions": ["2026-07-28"], "capabilities": self.capabilities}
        if method == "tools/list":
            return {"tools": self.tools}
        if method == "approval/challenge/create":
            return self.envelope
        return self.results[method]


def listing(name: str, *, gated: bool = True, **members: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "inputSchema": {"type": "object"}}
    if gated:
        entry["_meta"] = {META_KEY: {"required": "verified", **members}}
    return entry


SIGNS = """
class Assertion {
  toJSON() { return {id: "AQ", rawId: "AQ", type: "public-key", clientExtensionResults: {},
    unknownMember: {kept: true}, response: {signature: "AQ", later: [1]}}; }
}
CredentialsContainer.prototype.get = async () => {
  globalThis.askedWith = document.getElementById("display-text").textContent;
  return new Assertion();
};
"""
"""An authenticator that signs nothing, for servers that do not look."""

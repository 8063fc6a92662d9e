"""A person on the page of the target, from enrolment to outcome.

If an honest step fails, the rest is "not verified". The browser sees what the page sends
(`page_traffic`), the target's effects show what the tool did. The expectations are in
`page_scenario`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...catalogue import NotApplicable, NotVerified
from ...config.settings import PREFIX
from ...support.deadline import Deadline
from ...support.origins import origin_of_url
from ...support.secrets import beginning
from ..base.outcome import ObservedOutcome
from ..base.scenario import Warn
from . import vocabulary as words
from .client_expectations import shown
from .driver import Approval, ListedTool, parse_instant
from .page import PageDriver, PageError, ShownText
from .page_traffic import PageRequest, Traffic
from .scenario import ToolsView
from .vocabulary import AuthenticatorClass

if TYPE_CHECKING:
    import datetime

    from playwright.sync_api import ConsoleMessage

    from ...browser.keys import Key
    from ...browser.pages import ApprovalPage
    from ...browser.prompts import Prompt

_MOST_LINES = 1_000
"""Of the console that are kept."""
_SETTLING_MILLISECONDS = 150.0
"""Time for a page to do by itself what it should not do."""
_ANSWER_MILLISECONDS = 10_000.0
_STEP_MILLISECONDS = 10.0


@dataclass(frozen=True)
class Review:
    """A call that waits for the person's decision."""

    tool: ListedTool
    envelope: Mapping[str, Any]
    """As the page got it from the server."""
    shown: ShownText

    @property
    def display_text(self) -> str:
        return str(self.envelope.get("displayText"))

    @property
    def expires_at(self) -> datetime.datetime:
        return parse_instant(self.envelope.get("expiresAt"))


@dataclass(frozen=True)
class PageOutcome(ObservedOutcome):
    """What became of a call that was asked for on the page."""

    text: str
    """What the page says, to the person."""
    calls: tuple[PageRequest, ...]
    """The tools/call requests that the page sent for it."""

    @property
    def answer_is_hidden(self) -> bool:
        """The page got an answer, but the browser does not show which."""
        return bool(self.calls) and self.calls[-1].is_hidden

    @property
    def succeeded(self) -> bool:
        if not self.calls:
            return False
        if self.answer_is_hidden and self.probed:
            return self.runs != 0
        result = self.calls[-1].result
        return result is not None and result.get("isError") is not True

    @property
    def reason(self) -> str | None:
        return self.calls[-1].reason if self.calls else None

    @property
    def said(self) -> str:
        hidden = " (the browser does not show what it was answered)"
        return f"the page says {shown(self.text)}{hidden if self.answer_is_hidden else ''}"


class PageVisitor(ToolsView):
    """One scenario's person, on the page of the target."""

    def __init__(
        self, approval: Approval, page: ApprovalPage, driver: PageDriver, warn: Warn
    ) -> None:
        super().__init__(approval, warn)
        self.page = page
        self.driver = driver
        self.traffic = Traffic(page.context)
        self.console: list[tuple[str, str]] = []
        """What the page wrote to the console: the kind (log, warning, error), and the text."""
        self._is_open = False
        page.context.on("console", self._heard)

    def _heard(self, line: ConsoleMessage) -> None:
        if len(self.console) < _MOST_LINES:
            self.console.append((line.type, beginning(line.text, 2_000)))

    # ---- tools that may be run

    @property
    def tool(self) -> ListedTool:
        """One of class cross-platform if there is one, since that shows more."""
        try:
            return self.tool_of_class(AuthenticatorClass.CROSS_PLATFORM)
        except NotApplicable:
            return super().tool

    def tool_for_any_passkey(self) -> ListedTool:
        """One that takes whatever is enrolled, if there is one."""
        try:
            return self.tool_of_class(AuthenticatorClass.PLATFORM)
        except (NotApplicable, NotVerified):
            return self.tool

    def plain_tool(self) -> ListedTool:
        if not self.driver.description.tool:
            raise NotApplicable("the page has no place to choose a tool that needs no approval")
        return super().plain_tool()

    # ---- honest steps: if one fails, nothing else can be judged

    def opens(self) -> None:
        """Go to the page; again, if it was open."""
        self.driver.open()
        self._is_open = True

    def opens_if_it_can(self) -> None:
        """The same, if the page may well refuse to go on."""
        with contextlib.suppress(PageError):
            self.opens()

    def need_seen(self, *methods: str) -> None:
        """The page's browser sends one of these itself, so that its answer can be changed."""
        if not self.traffic.of(*methods):
            raise NotVerified(
                f"the page's browser sends no {' or '.join(methods)}: what its own server hears "
                "cannot be changed here"
            )

    def holds(self, shape: str = "security-key", **changes: Any) -> Key:
        """Use an authenticator of this shape from now on."""
        return self.page.key(shape, **changes)

    def enrols(self, shape: str = "security-key", **changes: Any) -> Key:
        key = self.holds(shape, **changes)
        if not self._is_open:
            self.opens()
        said = self._last_word(self.driver.enrol(), "enrolled")
        prompt = next((one for one in reversed(key.prompts) if one.kind == "create"), None)
        if prompt is None:
            raise NotVerified(f"the page asked for no new passkey, and says {shown(said)}")
        finish = self.traffic.of(words.ENROLL_FINISH)[-1:]
        refused = finish and (finish[0].result or {}).get("success") is not True
        if prompt.response is None or refused:
            why = prompt.error or (finish[0].reason if finish else None) or "no success"
            raise NotVerified(
                f"an honest enrolment on the page failed ({why}): it says {shown(said)}"
            )
        return key

    def asks(
        self, tool: ListedTool | None = None, arguments: Mapping[str, Any] | None = None
    ) -> Review:
        """Ask for a call of a gated tool, up to the review."""
        chosen = tool or self.tool
        given = chosen.arguments if arguments is None else arguments
        assert given is not None
        before = len(self.traffic.of(words.CHALLENGE_CREATE))
        if not self.driver.description.tool and chosen.name != self.tool.name:
            raise NotApplicable(f"the page has no place to choose a tool, such as {chosen.name}")
        self.driver.ask(chosen.name, given)
        if not self.driver.await_review():
            said = self._last_word(self.driver.outcome(), "outcome")
            if not self.driver.review_is_open():
                raise NotVerified(f"the page shows nothing to approve, and says {shown(said)}")
        challenges = self.traffic.of(words.CHALLENGE_CREATE)[before:]
        envelope = challenges[-1].result if challenges else None
        if envelope is None:
            raise NotVerified(
                "the page's challenge cannot be seen: its browser sends no "
                f"{words.CHALLENGE_CREATE}"
            )
        asked = challenges[-1].params.get("toolName")
        if not self.driver.description.tool and asked != chosen.name:
            raise NotVerified(
                f"the page asks for {shown(str(asked))}, not for {chosen.name}: name the page's "
                f"tool first, {PREFIX}tool NAME=JSON"
            )
        return Review(chosen, envelope, self.driver.display_text())

    def approves(self, review: Review) -> PageOutcome:  # noqa: ARG002  # whoever approves has a review
        """Agree on the page; what the person does with the key is queued before."""
        return self.observes(self.driver.approve)

    def declines(self, review: Review) -> PageOutcome:  # noqa: ARG002
        return self.observes(self.driver.decline)

    def approves_a_call(self, tool: ListedTool | None = None) -> PageOutcome:
        """The honest call, from beginning to end; without it nothing else counts."""
        done = self.approves(self.asks(tool))
        if not (done.served and done.calls):
            raise NotVerified(f"an honest call on the page failed: {done.describe()}")
        return done

    def observes(self, act: Callable[[], object]) -> PageOutcome:
        """Do something, wait until the page says what came of it, and look at the effects."""
        before = len(self.traffic.of("tools/call"))

        def whole() -> str:
            act()
            return self._last_word(self.driver.outcome(), "outcome")

        said, runs = self.approval.runs_during(whole)
        calls = tuple(self.traffic.of("tools/call")[before:])
        return PageOutcome(said, calls, runs=runs, probed=self.approval.effects is not None)

    def _last_word(self, said: str, key: str) -> str:
        """What a page says when it is done, if nothing shows when that is: its text no longer
        changes, none of its requests is open, and no passkey is asked for."""
        if self.driver.description.busy or self.target.named_page is None:
            return said  # the reference server's own page says nothing before
        deadline = Deadline(self.driver.patience)
        quiet = Deadline(_SETTLING_MILLISECONDS / 1000)
        while not quiet.passed and not deadline.passed:
            self.page.page.wait_for_timeout(_STEP_MILLISECONDS)
            says = self.driver.says_now(key)
            asked = any(one.response is None and not one.error for one in self.page.asked)
            if says != said or asked or self.traffic.open:
                said = says or said
                quiet = Deadline(_SETTLING_MILLISECONDS / 1000)
        return said

    def settles(self) -> None:
        """Give the page a moment for what it might do by itself."""
        self.page.page.wait_for_timeout(_SETTLING_MILLISECONDS)

    def sends_again(self, sent: PageRequest) -> str | None:
        """The very same request once more, with the browser's cookies; None if no answer came to
        its end.

        Not by the page's own fetch: a page may wrap it, answer itself, or forbid it by its policy,
        and then nothing would be known of the server."""
        from playwright.sync_api import Error

        headers = {
            name: value
            for name, value in sent.request.headers.items()
            if name in ("accept", "content-type", "origin") or name.startswith("mcp-")
        }
        try:
            return self.page.context.request.post(
                sent.url,
                data=sent.request.post_data_buffer or b"",
                headers={"origin": origin_of_url(self.driver.url) or "", **headers},
                timeout=_ANSWER_MILLISECONDS,
                max_redirects=0,
            ).text()
        except (Error, UnicodeDecodeError):
            return None

    # ---- what was seen

    def assertions(self) -> list[Prompt]:
        """The requests for an assertion that pages made so far."""
        return [one for one in self.page.asked if one.kind == "get"]

    def calls_of(self, tool: ListedTool) -> list[PageRequest]:
        return [one for one in self.traffic.of("tools/call") if one.params.get("name") == tool.name]

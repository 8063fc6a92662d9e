"""Honest people before a server that asks: its tools, how they ask, and a yes that runs the call.

If an honest step fails, nothing else can be judged. Knows no expectations.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...catalogue import NotApplicable, NotVerified
from ...config.settings import PREFIX
from ...wire import (
    HANDSHAKE_REVISIONS,
    SESSIONLESS_REVISIONS,
    Era,
    StdioTransport,
    WireError,
)
from ..base.scenario import CloseLater, HonestStepRefused, ScenarioView, Warn
from ..base.second_user import headers_of_second_user
from ..base.survey import silent_tools
from .clients import RelayingClient
from .driver import MOST_ROUNDS, Elicitation
from .form_answers import Approving
from .outcome import AskedQuestion, ElicitationOutcome
from .settings import NO_TOOL, TABLE, ElicitingTool
from .vocabulary import FAMILY, Mode

_KINDS = f"{FAMILY} kinds of questions"
SESSIONLESS_ONLY = "before 2026-07-28 an answer is part of the open call"
HANDSHAKE_ONLY = "since 2026-07-28 a server sends no requests of its own"


@dataclass(frozen=True)
class QuestionKind:
    """How a tool asks, as seen once."""

    mode: Mode | None
    approving: Approving | None
    schema: Any


class HonestQuestions(ScenarioView):
    """A server that asks, and those whom it should serve."""

    def __init__(
        self,
        driver: Elicitation,
        warn: Warn,
        close_later: CloseLater,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`note` tells the report something that was observed."""
        super().__init__(driver.target, warn, close_later)
        self.driver = driver
        self.table = driver.table
        self.note = note

    # ---- the era

    @property
    def era(self) -> Era:
        return self.driver.era

    @property
    def sessionless(self) -> bool:
        return self.era is Era.SESSIONLESS

    def need_sessionless(self) -> None:
        if not self.sessionless:
            raise NotApplicable(SESSIONLESS_ONLY)

    def need_handshake(self) -> None:
        if self.sessionless:
            raise NotApplicable(HANDSHAKE_ONLY)

    @property
    def knows_no_pages(self) -> bool:
        """Whether the revision has no url mode."""
        return self.driver.client.session.revision < "2025-11-25"

    @property
    def over_stdio(self) -> bool:
        return isinstance(self.target.transport, StdioTransport)

    # ---- tools

    def tools(self) -> list[ElicitingTool]:
        """The tools that may be run here."""
        found = [one for one in self.driver.tools() if one.arguments is not None]
        if not found:
            raise NotVerified(NO_TOOL)
        return found

    def kind(self, tool: ElicitingTool) -> QuestionKind | None:
        """How this tool asks; None if it asks nobody. Asked once, and remembered."""
        kinds: dict[str, QuestionKind | None] = self.target.remembered.setdefault(_KINDS, {})
        if tool.name not in kinds:
            asked = self.driver.ask(tool, watch=False)
            kinds[tool.name] = None
            if isinstance(asked, AskedQuestion):
                self.driver.leave(asked)
                kinds[tool.name] = QuestionKind(asked.mode, asked.approving, asked.schema)
        return kinds[tool.name]

    def asking_tools(self, mode: Mode | None = None) -> list[ElicitingTool]:
        """Those that do ask, in this mode or in any. If none does, nothing can be judged."""
        kinds = [(tool, self.kind(tool)) for tool in self.tools()]
        asking = [(tool, kind) for tool, kind in kinds if kind is not None]
        if not asking:
            raise NotVerified(
                f"{kinds[0][0].name} asks nobody, so nothing follows; see {FAMILY}/asks-first"
            )
        return [tool for tool, kind in asking if mode is None or kind.mode is mode]

    def form_tools(self) -> list[ElicitingTool]:
        """Those that ask by a form; a server need not have any."""
        found = self.asking_tools(Mode.FORM)
        if not found:
            raise NotApplicable("no tool that may be run asks by a form")
        return found

    def url_tools(self) -> list[ElicitingTool]:
        """Those that ask on a page; an empty list if there are none."""
        try:
            return self.asking_tools(Mode.URL)
        except NotVerified:
            return []

    def need_url_tools(self) -> list[ElicitingTool]:
        found = self.url_tools()
        if not found:
            raise NotApplicable("no tool that may be run asks on a page (url mode)")
        return found

    def deciding_tools(self) -> list[tuple[ElicitingTool, Approving]]:
        """Those with a form in which a member approves."""
        kinds = [(tool, self.kind(tool)) for tool in self.form_tools()]
        found = [(tool, kind.approving) for tool, kind in kinds if kind and kind.approving]
        if not found:
            raise NotApplicable(
                "no form has a member that approves, as far as that can be worked out "
                f"(approves = 'MEMBER' in [{FAMILY}.tools.NAME])"
            )
        return found

    @property
    def tool(self) -> ElicitingTool:
        """The one that most scenarios use: by a form with a member that approves, if there is
        one."""
        tools = self.asking_tools()

        def order(tool: ElicitingTool) -> tuple[bool, bool]:
            kind = self.kind(tool)
            return kind is None or kind.mode is not Mode.FORM, not (kind and kind.approving)

        return min(tools, key=order)

    def twins(self) -> tuple[ElicitingTool, ElicitingTool]:
        """Two tools that take the same arguments."""
        forms = self.asking_tools()
        for one in forms:
            for other in forms:
                if one is not other and self._takes(other, one.arguments or {}):
                    return one, other
        if len(self.driver.tools()) < 2:
            raise NotVerified(f"needs a second tool that asks: tools.NAME {TABLE}", minor=True)
        raise NotVerified(
            "needs two tools that ask and take the same arguments: give both the same "
            f"arguments {TABLE}",
            minor=True,
        )

    def _takes(self, tool: ElicitingTool, arguments: Mapping[str, Any]) -> bool:
        return set(tool.arguments or {}) == set(arguments)

    def annotations(self, tool: ElicitingTool) -> Mapping[str, Any]:
        found = self.driver.listing().get(tool.name, {}).get("annotations")
        return found if isinstance(found, Mapping) else {}

    def properties(self, tool: ElicitingTool) -> Mapping[str, Any]:
        """The arguments that a tool offers, by its listed schema."""
        schema = self.driver.listing().get(tool.name, {}).get("inputSchema")
        found = schema.get("properties") if isinstance(schema, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    # ---- honest steps: if one fails, nothing else can be judged

    def ask(
        self, tool: ElicitingTool | None = None, arguments: Any = None, **how: Any
    ) -> AskedQuestion:
        """An honest question."""
        tool = tool or self.tool
        asked = self.driver.ask(tool, arguments, **how)
        if isinstance(asked, ElicitationOutcome):
            raise HonestStepRefused(
                f"{tool.name} asked nobody, so nothing follows: {asked.describe()}"
            )
        return asked

    def approve(self, asked: AskedQuestion, *, after: str = "") -> ElicitationOutcome:
        """The positive twin: an honest yes runs the call. If it does not, nothing follows."""
        outcome = self.try_to_approve(asked)
        when = f", {after}" if after else ""
        if not outcome.served:
            raise HonestStepRefused(
                f"{asked.tool.name} was approved{when} and did not run, so nothing follows: "
                f"{outcome.describe()}"
            )
        self.driver.served()
        return outcome

    def try_to_approve(self, asked: AskedQuestion) -> ElicitationOutcome:
        """Honest answers to the end, whatever comes of it."""
        with self.honest_step():
            return self.driver.finish(asked)

    def last_question(self, tool: ElicitingTool) -> AskedQuestion:
        """The question whose answer runs the call: the person has said yes to all before it, and on
        its page."""
        self.honest(tool)  # so that the number of questions is known
        asked = self.ask(tool)
        for _ in range(self.driver.seen.rounds_of(tool) - 1):
            with self.honest_step():
                asked = self.driver.approve(asked).question or asked
        if asked.mode is Mode.URL:
            with self.honest_step():
                self.driver.person.approve(asked)
        return asked

    def rounds(self, tool: ElicitingTool) -> list[AskedQuestion]:
        """All questions of one call, answered honestly."""
        asked: AskedQuestion | None = self.ask(tool)
        found: list[AskedQuestion] = []
        with self.honest_step():
            while asked is not None and all(asked.params != one.params for one in found):
                found.append(asked)
                asked = self.driver.approve(asked).question if len(found) < MOST_ROUNDS else None
        return found

    def silent_tools(self) -> dict[str, str]:
        """Tools that look destructive and are not known to ask anybody, each with the reason."""
        gated = {one.name for one in self.driver.tools()} | self.target.gated_tools
        for family, names in self.target.known_tools().items():
            gated |= names if family != FAMILY else frozenset()
        return dict(silent_tools(self.driver.listing().values(), gated))

    def to_the_end(self, outcome: ElicitationOutcome) -> ElicitationOutcome:
        """What comes of a call that was approved so far, and may ask on."""
        return outcome if outcome.question is None else self.try_to_approve(outcome.question)

    def honest(
        self, tool: ElicitingTool | None = None, arguments: Any = None
    ) -> ElicitationOutcome:
        return self.approve(self.ask(tool, arguments))

    def still_serves(self, tool: ElicitingTool | None = None, *, after: str) -> None:
        """After all that, an honest person is served as before: promised by every rule."""
        tool = tool or self.tool
        with self.promised(sent=f"{tool.name}, honestly, after {after}", expected="it runs"):
            self.honest(tool)

    def response(self, asked: AskedQuestion) -> dict[str, Any]:
        """An honest yes to the form."""
        with self.honest_step():
            return asked.response()

    @contextlib.contextmanager
    def promised(self, *, sent: str, expected: str) -> Iterator[None]:
        """As for all families, if honest people were ever served here: otherwise nothing follows
        from one who is not."""
        if not self.target.last_served:
            yield
            return
        with super().promised(sent=sent, expected=expected):
            yield

    def need_restart(self) -> None:
        if not self.target.can_restart:
            raise NotVerified("needs a target that the suite can restart")

    def need_long_times(self, *, minor: bool = False) -> None:
        """For a check over hours, which nobody waits for."""
        clock = self.target.clock
        if not clock.movable:
            why = f"needs a clock that can be moved: {clock.why_not}"
            raise NotVerified(why, minor=minor)
        if not clock.stops:
            why = f"needs a clock that can be put ahead by hours, not {clock.kind}"
            raise NotVerified(why, minor=minor)

    def need_effects_or_words(self) -> None:
        """Without a probe, an answer is compared with that of an honest approval."""
        if self.driver.effects is None:
            self.honest()

    @property
    def real_clock_option(self) -> str:
        return f"{PREFIX}clock=wait:SECONDS"

    # ---- others

    def second_user(self) -> RelayingClient:
        """Somebody else with the same client: what a client calls itself says nothing about who
        uses it."""
        headers = headers_of_second_user(self.target, known_to_document=True)
        return self.driver.new_client(headers=headers)

    def of_other_era(self, capabilities: Any = None) -> RelayingClient:
        """A client of the era that this run does not speak, if the server speaks both."""
        if self.over_stdio:
            raise NotApplicable("over stdio a server is spoken to in one era")
        revisions = HANDSHAKE_REVISIONS if self.sessionless else SESSIONLESS_REVISIONS
        client = self.driver.new_client(capabilities, protocol=revisions[-1])
        try:
            _ = client.session
        except WireError:
            raise NotApplicable(f"the server does not speak {revisions[-1]}") from None
        return client

    def second_client(self) -> RelayingClient:
        """Another conversation of the same user."""
        if self.over_stdio and not self.sessionless:
            raise NotApplicable("over stdio there is one session")
        return self.driver.new_client(name="pytest-mcp-approval, second client")

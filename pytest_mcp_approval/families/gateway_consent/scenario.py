"""What scenarios of gateway consent are written with: honest steps and expectations.

Every scenario has its own clients, with names never used before, so that earlier decisions do not
interfere. Knows the readings: the several ways in which a rule may be kept.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ...catalogue import Finding, Grade, NotApplicable, NotVerified
from ...support.guard import TemporaryFolder
from ...target import Target
from ..base.driver import DriverError
from ..base.form_client import FormClient
from ..base.outcome import ObservedOutcome
from ..base.people import form_client_for
from ..base.scenario import CloseLater, HonestStepRefused, ScenarioView, Warn, finding_of
from .app_double import AppDouble
from .driver import Client, GatewayConsent
from .oauth_client import OAuthClient
from .outcome import GatewayOutcome, shown
from .scanning import files_under
from .settings import NO_TOOL, TABLE, SafeTool
from .vocabulary import FAMILY, Choice, Kind, Refusal, split_tool_name, tool_name


class Consents(ScenarioView):
    """One scenario's view of a gateway."""

    def __init__(self, driver: GatewayConsent, warn: Warn, close_later: CloseLater) -> None:
        super().__init__(driver.target, warn, close_later)
        self.driver = driver
        self.mark = secrets.token_hex(4)
        """Part of every client's name, so that each is new."""
        self.tools = driver.tools
        self.named = driver.client

    # ---- tools

    @property
    def tool(self) -> SafeTool:
        """The one that most scenarios use."""
        for tool in self.tools():
            return tool
        raise NotVerified(NO_TOOL)

    def tool_of(self, kind: Kind) -> SafeTool:
        """Of an app of that kind; a gateway need not have one."""
        for tool in self.tools():
            if tool.kind is kind:
                return tool
        name_one = f"kind = '{kind}' in tools.'NAME' {TABLE}"
        if any(tool.kind is None for tool in self.tools()) or not self.tools():
            raise NotVerified(f"needs a tool of a {kind} app: {name_one}")
        raise NotApplicable(f"no tool of a {kind} app is named; if the gateway has one: {name_one}")

    def undecided(self, client: Client) -> SafeTool:
        """A tool without a decision for this client, whose name others may have used."""
        for tool in self.tools() or [self.tool]:
            if client.call(tool).needs_consent:
                return tool
        raise NotVerified(
            f"every tool that may be run was decided on for {shown(client.name)} before: reset "
            "what the gateway keeps"
        )

    def second_tool(self, tool: SafeTool) -> SafeTool:
        """Another tool of the same app."""
        return self._beside(tool, f"a second tool of {tool.app}", same_app=True)

    def other_app(self, tool: SafeTool) -> SafeTool:
        """A tool of another app; of the same name, if there is one."""
        return self._beside(tool, "a tool of a second app", same_app=False)

    def _beside(self, tool: SafeTool, what: str, *, same_app: bool) -> SafeTool:
        """A gateway need not have one; if it does, the table must name it."""

        def fits(app: str, name: str) -> bool:
            return (app == tool.app) is same_app and name != tool.name

        found = [one for one in self.tools() if fits(one.app, one.name)]
        if found:
            return min(found, key=lambda one: one.tool != tool.tool)
        named = [(split_tool_name(name), name) for name in self.driver.listing()]
        listed = [(divided[0], name) for divided, name in named if divided is not None]
        for app, name in listed:
            if fits(app, name):
                raise NotVerified(f"needs {what} that may be run, such as {name}: tools {TABLE}")
        table = self.driver.table
        if table.all_tools_named or (table.call.names_each_tool and listed):
            raise NotApplicable(f"the gateway has no {what.removeprefix('a ')}")
        raise NotVerified(
            f"needs {what} that may be run: tools {TABLE}, or all-tools-named = true if there is "
            "none"
        )

    def lists(self, tool: SafeTool) -> bool:
        """Behind one tool nothing is listed: it counts as there until a call shows otherwise."""
        if not self.driver.table.call.names_each_tool:
            return True
        return self.driver.binding.call_params(tool, {})["name"] in self.driver.listing()

    def offers(self, tool: SafeTool) -> bool:
        """Listed, and not refused outright to a client that nobody has decided on: such a tool is
        one that the gateway does not have, or not here."""
        if not self.lists(tool):
            return False
        answer = self.client("Stranger").call(tool)
        return answer.executed or not answer.denied

    # ---- clients

    def fresh(self, name: str) -> str:
        return f"{name} {self.mark}"

    def client(self, name: str = "Client") -> Client:
        """A new client, whose name begins with this."""
        return self.driver.client(self.fresh(name))

    def crowd(self, count: int) -> list[Client]:
        """That many new clients; a few, where each needs a process of its own."""
        first = self.client("One of many 0")
        few = first.connection.target is not self.target
        return [first, *(self.client(f"One of many {n}") for n in range(1, 4 if few else count))]

    # ---- honest steps: if one fails, nothing else can be judged

    def asked(self, client: Client, tool: SafeTool) -> GatewayOutcome:
        """The question about a tool, before anybody has decided."""
        answer = client.call(tool)
        if not answer.needs_consent:
            raise NotVerified(
                f"a first call of {tool.name} was not asked about, so nothing follows: "
                f"{answer.describe()}"
            )
        return answer

    def decide(
        self, asked: GatewayOutcome, choice: Choice = Choice.TOOL, *, remember: bool = True
    ) -> None:
        """In a dialog the decision is made while a call waits: see the driver."""
        with self.honest_step("a person could not decide"):
            self.driver.decide(asked, choice, remember=remember)

    def decide_or_refused(self, asked: GatewayOutcome, choice: Choice) -> None:
        """The same, where the rule itself promises that the question can be answered."""
        try:
            self.driver.decide(asked, choice, remember=True)
        except DriverError as error:
            raise HonestStepRefused(f"a person could not decide: {error}") from error

    def decided(
        self,
        client: Client,
        tool: SafeTool,
        choice: Choice = Choice.TOOL,
        *,
        remember: bool = True,
    ) -> None:
        self.decide(self.asked(client, tool), choice, remember=remember)

    def allowed(
        self,
        client: Client,
        tool: SafeTool,
        choice: Choice = Choice.TOOL,
        *,
        remember: bool = True,
    ) -> None:
        """The positive twin: asked, allowed, served. If it fails, nothing here can be judged."""
        self.decided(client, tool, choice, remember=remember)
        answer = client.call(tool)
        if not self.is_served(answer, tool):
            raise NotVerified(
                f"{tool.name} was allowed and not served, so nothing follows: {answer.describe()}"
            )
        self.driver.served()

    def is_served(self, answer: GatewayOutcome, tool: SafeTool) -> bool:
        """Consent was given: the tool ran, or the app's authorisation comes next."""
        if tool.own_authorisation and answer.needs_authorization:
            return not (answer.probed and answer.executed)
        return answer.served

    # ---- expectations

    def expect_asked(self, answer: GatewayOutcome, *, sent: str) -> None:
        """A question, and nothing run. A refusal without one is not as bad as a run."""
        expected = "CONSENT_REQUIRED, tool not run"
        if answer.executed:
            raise finding_of(answer, sent=sent, expected=expected, grade=Grade.RAN)
        if not answer.needs_consent:
            refused = "refused, and nobody was asked: " if answer.refused else ""
            grade = Grade.OTHER_WORDS if answer.refused else Grade.BROKEN
            got = f"{refused}{answer.describe()}"
            raise Finding(sent=sent, expected=expected, got=got, grade=grade)

    def expect_served(self, answer: GatewayOutcome, tool: SafeTool, *, sent: str) -> None:
        if self.is_served(answer, tool):
            return
        own = tool.own_authorisation and answer.refused and not answer.executed
        if own and not answer.code and not answer.needs_consent:
            raise NotVerified(
                f"{sent}: {answer.describe()}; if this asks for the app's authorisation, say so: "
                f"codes.{Refusal.AUTHORIZATION_REQUIRED} {TABLE}"
            )
        raise finding_of(answer, sent=sent, expected="the tool run")

    def expect_denied(self, answer: GatewayOutcome, *, sent: str) -> None:
        """Refused without a new question, and nothing run."""
        if answer.executed or not answer.denied:
            expected = "a refusal without a new question, tool not run"
            grade = Grade.RAN if answer.executed else Grade.BROKEN
            raise finding_of(answer, sent=sent, expected=expected, grade=grade)

    def expect_not_run(self, outcome: ObservedOutcome, *, sent: str) -> None:
        """A gateway that does not answer has not refused."""
        if outcome.executed or not outcome.refused:
            grade = Grade.RAN if outcome.executed else Grade.BROKEN
            raise finding_of(outcome, sent=sent, expected="a refusal, tool not run", grade=grade)

    def keeps_apart(
        self, first: Client, tool: SafeTool, second: Client, other: SafeTool, *, what: str
    ) -> None:
        """A decision for the first pair of client and tool does not affect the second, yes or no;
        and a decision for the second does not affect the first."""
        here = f"{other.name} by {shown(second.name)}"
        self.asked(second, other)
        self.allowed(first, tool)
        granted = f"after {tool.name} was allowed to {shown(first.name)}"
        answer = second.call(other)
        self.expect_asked(answer, sent=f"{here}, {granted} ({what})")
        self.decide(answer, Choice.DENY)
        self.expect_denied(second.call(other), sent=f"{here}, denied for ever ({what})")
        self.expect_served(
            first.call(tool),
            tool,
            sent=f"{tool.name} by {shown(first.name)}, after {here} was denied ({what})",
        )

    # ---- how the person is asked

    def need_answer(self) -> None:
        """The rule needs an agent that is told about the question."""
        if self.driver.asks_in_dialogs:
            raise NotApplicable("the person is asked in a dialog, and the agent is told nothing")

    def need_page(self) -> None:
        """The rule needs a person who is asked on a page."""
        if self.driver.asks_in_dialogs:
            raise NotApplicable("the person is asked in a dialog: there is no page")
        if not self.driver.table.person_is_told:
            return
        url = self.asked(self.client("Page"), self.tool).consent_url
        if not url.startswith(("http://", "https://")):
            raise NotApplicable("the person is asked in a dialog: consentUrl leads to no page")

    def dialog_about(self, client: Client, tool: SafeTool) -> Mapping[str, Any]:
        """What was shown to the person, for a gateway whose dialogs a hook answers."""
        asked = self.asked(client, tool)
        if self.driver.asks_in_dialogs:
            found: Any = asked.questions[-1] if asked.questions else None
        else:
            found = self.driver.person.decide(asked, Choice.DENY, remember=False)
        if isinstance(found, Mapping) and isinstance(found.get("text"), str):
            return found
        raise NotVerified(
            "needs to know what the dialog shows: the hook of person answers with "
            '{"text": ..., "choices": [...]}'
        )

    # ---- over time

    def need_long_times(self) -> None:
        """For a check over days, of a rule that is otherwise judged without a clock."""
        clock = self.target.clock
        if not clock.movable or not clock.stops:
            raise NotApplicable("needs a clock that can be put ahead by days, and there is none")

    def restart(self) -> None:
        if not self.driver.keeps_over_restarts:
            raise NotVerified("keeps nothing over a restart: it was started in memory")
        if not self.target.can_restart:
            raise NotVerified("needs a target that the suite can restart")
        self.driver.restart()

    # ---- other gateways

    def need_apps(self) -> None:
        """For a check with apps of the suite's own, of a rule that is otherwise judged without."""
        if not self.driver.table.takes_apps:
            raise NotApplicable(
                "needs apps of the suite's own, and the gateway is given none: "
                f"descriptors-environment = 'VARIABLE' {TABLE}"
            )

    def with_descriptors(
        self, descriptors: Iterable[dict[str, Any]], *, stored: bool | str = False
    ) -> Consents:
        """The same gateway with more apps, closed with the scenario; `stored`: its data in
        files."""
        table = self.driver.table
        given = list(descriptors)
        other: Target | None = None
        if table.descriptors_setting:
            other = self.target.variant(FAMILY, table.descriptors_setting, given)
        elif table.descriptors_environment:
            path = self._written(given)
            other = self.target.with_environment({table.descriptors_environment: str(path)})
        if other is not None and stored and table.storage_setting:
            self._close_later(other.close)
            kind = stored if isinstance(stored, str) else "file"
            other = other.variant(FAMILY, table.storage_setting, kind)
        driver = GatewayConsent(
            self.need_target(
                other,
                "a gateway that the suite can give apps to: one that it starts, and "
                f"descriptors-environment = 'VARIABLE' {TABLE}",
            )
        )
        driver.stand_in = self.driver.stand_in
        self._close_later(driver.close)
        return Consents(driver, self.warn, self._close_later)

    def _written(self, descriptors: list[dict[str, Any]]) -> Path:
        folder = TemporaryFolder("apps")
        self._close_later(folder.cleanup)
        path = Path(folder.name) / "apps.json"
        path.write_text(json.dumps(descriptors), encoding="utf-8")
        return path

    def with_apps(
        self,
        *,
        stored: bool | str = False,
        twins: bool = False,
        more: Callable[[AppDouble], list[dict[str, Any]]] = lambda _: [],
    ) -> AppConsents:
        """The same gateway with the suite's own apps behind it; with their twins, and with more."""
        if self.driver.table.auth == ():
            raise NotApplicable(f"the gateway has no way to authorise (auth {TABLE})")
        double = AppDouble(twins=twins)
        self._close_later(double.close)
        other = self.with_descriptors([*double.descriptors(), *more(double)], stored=stored)
        double.now = other.target.clock.now
        return AppConsents(other.driver, self.warn, self._close_later, double)

    # ---- an app's authorisation server

    def oauth(self, spelling: str = "camel") -> OAuthClient:
        facts = self.driver.facts()
        assert facts.oauth is not None, "a rule that uses it needs it"
        return OAuthClient(self.target, facts.oauth, facts.page, spelling)

    def files(self) -> tuple[str, ...]:
        """The places where the gateway writes."""
        folder = self.target.settings.directory
        places = tuple(str(Path(folder, one)) for one in self.driver.facts().files)
        if not files_under(places):
            raise NotVerified(f"there is no file at {', '.join(places)[:100]}: the wrong place?")
        return places


class AppConsents(Consents):
    """With the suite's own apps (`double`) behind the gateway."""

    def __init__(
        self, driver: GatewayConsent, warn: Warn, close_later: CloseLater, double: AppDouble
    ) -> None:
        super().__init__(driver, warn, close_later)
        self.double = double

    def app_tool(self, app: str, tool: str = "read") -> SafeTool:
        """NotApplicable if the gateway has no such way to authorise."""
        way = self.double.ways()[app]
        if not self.driver.table.has(way):
            raise NotApplicable(f"the gateway has no apps with {way} (auth {TABLE})")
        made = self.made(app, tool)
        if self.lists(made):
            return made
        if any(self.lists(self.made(name)) for name in self.double.ways()):
            raise NotApplicable(f"the gateway took no app with {way}: {made.name} is not listed")
        raise NotVerified(f"the gateway was given an app and does not list its tool {made.name}")

    def each_app(self, *apps: str) -> list[str]:
        """Which of these apps of the suite (of all, if none is named) this gateway has."""
        has, ways = self.driver.table.has, self.double.ways()
        wanted = apps or ("key-header", "office", "cookie", "oauth")
        found = [app for app in wanted if has(ways[app]) and self.lists(self.made(app))]
        if not found:
            raise NotVerified("the gateway was given apps and does not list their tools")
        return found

    def made(self, app: str, tool: str = "read") -> SafeTool:
        """A tool of an app of the suite, whether the gateway has it or not."""
        name = tool_name(f"suite.{app}", tool)
        return SafeTool(name, f"suite.{app}", tool, {}, Kind.WEB, own_authorisation=True)

    def needing(self, client: Client, tool: SafeTool) -> GatewayOutcome:
        """Allowed by the person; now the app's authorisation is needed."""
        answer = client.call(tool)
        if answer.needs_consent:
            self.decide(answer)
            answer = client.call(tool)
        if not answer.needs_authorization:
            raise NotVerified(
                f"{tool.name} was allowed, and no authorisation of the app was asked for: "
                f"{answer.describe()}; if this asks for it, say so: "
                f"codes.{Refusal.AUTHORIZATION_REQUIRED} {TABLE}"
            )
        return answer

    def asked_for(self, client: Client, tool: SafeTool) -> Mapping[str, str]:
        """The authorisation request that the gateway makes for this client: its parameters."""
        path = f"/{tool.app.removeprefix('suite.')}/authorize"
        before = len(self.double.seen(path=path))
        needed = self.needing(client, tool)
        self.driver.person_at_pages.let_in(needed.auth_url)
        seen = self.double.seen(path=path)[before:]
        if not seen:
            raise NotVerified(
                "the gateway's authUrl did not lead to the app's authorisation end point"
            )
        return seen[-1].form

    def under_way(
        self, client: Client, app: str = "oauth"
    ) -> tuple[SafeTool, Mapping[str, str], FormClient]:
        """The browser is at the app: the tool, the gateway's request, and that browser."""
        self.double.holds = True
        tool = self.app_tool(app)
        needed = self.needing(client, tool)
        browser = form_client_for(self.target)
        browser.get(needed.auth_url)
        seen = self.double.seen(app, f"/{app}/authorize")
        if not seen or "redirectUri" not in seen[-1].form:
            raise NotVerified(
                "the gateway's authUrl did not lead to the app's authorisation end point"
            )
        return tool, seen[-1].form, browser

    def comes_back(self, client: Client, app: str = "oauth") -> None:
        """The positive twin: an answer as the app gives it is taken."""
        tool, asked, browser = self.under_way(client, app)
        browser.get(self.double.way_back(asked))
        answer = client.call(tool)
        if not answer.succeeded:
            raise NotVerified(f"an honest answer of the app was not taken: {answer.describe()}")

    def let_in(self, client: Client, tool: SafeTool) -> GatewayOutcome:
        """All the way: consent, the app's authorisation, and the call that is served."""
        needed = self.needing(client, tool)
        self.type_in(needed, self.typed(tool))
        answer = client.call(tool)
        if not answer.succeeded:
            raise NotVerified(
                f"{tool.name}: authorised and not served, so nothing follows: {answer.describe()}"
            )
        return answer

    def expect_served(self, answer: GatewayOutcome, tool: SafeTool, *, sent: str) -> None:
        """All the way: to be asked for the app's authorisation again is not enough here."""
        if not answer.served:
            raise finding_of(answer, sent=sent, expected=f"{tool.tool} run")

    def expect_failure(self, answer: GatewayOutcome, *, sent: str) -> None:
        """What an app that breaks down says may be passed on as it is, even as a result: a
        warning, since the document does not say how a failure is told."""
        if answer.succeeded:
            self.warn(f"{sent}: told as a result, not as an error")
            return
        self.expect_not_run(answer, sent=sent)

    def typed(self, tool: SafeTool) -> tuple[str, ...]:
        """What a person types into the dialog of this app; nothing for OAuth."""
        app = tool.app.removeprefix("suite.")
        if app.startswith("key"):
            return (self.double.key,)
        if app.startswith("cookie"):
            return (self.double.cookie_text,)
        return (self.double.app_id, self.double.app_secret) if app.startswith("office") else ()

    def type_in(self, needed: GatewayOutcome, values: tuple[str, ...]) -> None:
        with self.honest_step("the app could not be authorised"):
            self.driver.type_in(needed, values)

"""The model of apps with an authorisation of their own, behind a gateway: the suite's apps.

They see what a gateway really sends. Consent comes first, and stands for nothing: the app is called
with its own credential, which goes nowhere else; what is asked for once is not asked for again; and
an app is told of the tools that its caller was granted. Where the document leaves something open
(whose a credential is, whether an OAuth token or cookies are renewed), either answer is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...catalogue import Grade, NotApplicable, NotVerified
from ...target import Target
from ..base.driver import DriverError
from ..base.exploration import EndOfWalk, Exercised, LeftOut, transition, which
from .app_double import AppDouble, AppRequest
from .exploration_state import ALWAYS, DENIED, ONCE, UNDECIDED, ClientStand, GatewayState
from .outcome import GatewayOutcome
from .scenario import AppConsents, Consents
from .settings import SafeTool
from .vocabulary import AAI_TOOLS

LAYERS, KEY, CREDENTIAL, COOKIE = "two-layers", "api-key", "app-credential", "cookie"
TOLD_TOOLS = "aai-tools-only-consented"
APPS = ("key-header", "oauth", "office", "key-query", "cookie", "other-oauth")
_ASKED_ONCE = {"key-header": KEY, "key-query": KEY, "office": CREDENTIAL}
_KEY_BELONGS = {"key-header": "header authorization", "key-query": "query suite_key"}
_NO_APPS = "exploration: no apps of ours"
_OWN = "suite."


@dataclass
class Entry:
    """A client that was let into an app."""

    seen: bool = False
    """Whether it was served since: only then something follows from a refusal."""


class AppsModel(GatewayState):
    """Apps of the suite's own, behind the same gateway."""

    def __init__(self, target: Target, exercised: Exercised | None = None) -> None:
        super().__init__(target, exercised)
        self.apps: AppConsents | None = None
        self.app_tools: list[SafeTool] = []
        self.entries: dict[tuple[int, str], Entry] = {}
        self.entered: set[str] = set()
        """The apps that anybody was ever let into."""

    @property
    def double(self) -> AppDouble:
        assert self.apps is not None
        return self.apps.double

    @property
    def tools(self) -> list[SafeTool]:
        return [*self.app_tools, *super().tools[:1]] if self.apps is not None else super().tools

    def state(self) -> tuple[Any, ...]:
        return (*super().state(), self.apps is not None, len(self.entries))

    def until_needed(self, client: int, tool: SafeTool) -> ClientStand:
        """Call it, and let the person allow it, until only the app's own authorisation is needed;
        or further, if that is there."""
        raise NotImplementedError

    # ---- what can be done

    @property
    def can_have_apps(self) -> bool:
        table = self.driver.table
        known = self.target.remembered.get(_NO_APPS)
        begins = self.apps is None and not self.stands
        return begins and not known and table.takes_apps and table.auth != ()

    @transition("the gateway is given apps of the suite's own", when="can_have_apps", weight=3)
    def give_apps(self) -> None:
        """The same gateway with more apps, at the beginning of a walk."""
        view = Consents(self.driver, lambda _: None, self.close_later)
        try:
            apps = self.take_time(view.with_apps)
            names = apps.each_app(*APPS)
        except (NotApplicable, NotVerified) as none:
            self.target.remembered[_NO_APPS] = True
            raise LeftOut from none
        self.apps, self.driver = apps, apps.driver
        self.app_tools = [apps.made(name) for name in names]
        self.app_tools += [apps.made(name, "wipe") for name in names[:2]]
        self.say("the gateway is given apps", ", ".join(names))

    @property
    def has_apps(self) -> bool:
        return self.apps is not None

    @property
    def has_needed(self) -> bool:
        return any(one.needed is not None for one in self.stands.values())

    @transition(
        "a person authorises the gateway at the app",
        when="has_needed",
        rules=(TOLD_TOOLS,),
        weight=3,
        number=which(),
    )
    def authorise(self, number: int) -> None:
        needing = [key for key, one in self.stands.items() if one.needed is not None]
        self.authorise_at(*self.pick(needing, number))

    def authorise_at(self, client: int, name: str) -> None:
        stand = self.stands[client, name]
        needed, stand.needed = stand.needed, None
        tool = next(one for one in self.app_tools if one.name == name)
        app = app_of(tool)
        assert self.apps is not None
        assert needed is not None
        self.say(f"client {client + 1} is let into {app}")
        before = self.seen_by_apps()
        try:
            self.driver.type_in(needed, self.apps.typed(tool))
        except DriverError as error:
            raise EndOfWalk(f"nobody could authorise at the app: {error}") from error
        self.enter(client, app)
        for one in self.look_at_apps(before):
            if one.path.startswith(f"/{app}/authorize"):
                self.compare_tools(client, tool, one)

    def enter(self, client: int, app: str) -> None:
        self.entries.setdefault((client, app), Entry())
        self.entered.add(app)

    def compare_tools(self, client: int, tool: SafeTool, request: AppRequest) -> None:
        """The app is told of what its caller was granted; a decision for one call, or one that is
        left open, may be told or not."""
        self.checked(TOLD_TOOLS)
        told = set(filter(None, request.form.get(AAI_TOOLS, "").split(",")))
        mine = {one.tool: self.stand(client, one) for one in self.app_tools if one.app == tool.app}
        granted = {name for name, stand in mine.items() if stand.state == ALWAYS}
        by_all = any(stand.by_all for stand in mine.values())
        may = {name for name, stand in mine.items() if stand.may_run} | {tool.tool}
        beyond = set() if by_all else told - may  # all tools are more than we know of
        if beyond or granted - told:
            raise self.broken(
                TOLD_TOOLS,
                "an app is told of other tools than were granted",
                sent=f"client {client + 1} is sent to authorise {app_of(tool)}",
                expected=f"aaiTools {','.join(sorted(granted | {tool.tool}))}",
                got=f"aaiTools {request.form.get(AAI_TOOLS, 'left out')}",
            )

    @property
    def has_entry(self) -> bool:
        return any(one.seen for one in self.entries.values())

    @transition("an app breaks down during a call", when="has_entry", number=which())
    def break_down(self, number: int) -> None:
        """What it makes of that is left open; but nobody loses a key (readings)."""
        inside = [key for key, one in self.entries.items() if one.seen]
        client, app = self.pick(inside, number)
        tool = next(one for one in self.app_tools if app_of(one) == app)
        stand = self.stand(client, tool)
        if stand.state != ALWAYS:
            raise LeftOut
        before = self.seen_by_apps()
        self.double.fails = True
        try:
            outcome = self.client(client).call(tool)
        finally:
            self.double.fails = False
        self.answered(outcome.reply)
        self.say(f"{app} breaks down while client {client + 1} calls it", outcome.describe())
        self.look_at_apps(before)

    # ---- what must hold

    def compare_app(
        self, stand: ClientStand, outcome: GatewayOutcome, client: int, tool: SafeTool, before: int
    ) -> None:
        """A call of an app's tool; `before`: so many requests had been seen by the apps."""
        requests = self.look_at_apps(before)
        app = app_of(tool)
        sent = f"tools/call {tool.name} by client {client + 1} ({stand.state})"
        entry = self.entries.get((client, app))
        anybody = app in self.entered
        own = [one for one in requests if one.app == app]
        called = [one for one in own if one.path.startswith(f"/{app}/tools")]
        self.checked(LAYERS)
        if stand.state in (UNDECIDED, DENIED) and (called or (own and not anybody)):
            raise self.broken(
                LAYERS,
                f"an app hears of a call that was {stand.state}",
                sent=sent,
                expected="no request to the app",
                got=f"{len(own)} request(s); {outcome.describe()}",
            )
        if not anybody and any(map(_has_credential, called)):
            raise EndOfWalk("the gateway has credentials of an earlier walk")
        if not anybody and (called or outcome.succeeded):
            raise self.broken(
                LAYERS,
                "consent stands for the app's authorisation",
                sent=f"{sent}, of an app that nobody was let into",
                expected="a refusal, and no call of the app's tool",
                got=f"{len(called)} call(s); {outcome.describe()}",
                grade=Grade.RAN if outcome.executed else Grade.BROKEN,
            )
        if entry is None or stand.state not in (ALWAYS, ONCE):
            return
        rule = _ASKED_ONCE.get(app)
        if rule is not None and not outcome.served:
            if not entry.seen:
                raise EndOfWalk(f"{tool.name}: authorised and not served, so nothing follows")
            self.checked(rule)
            raise self.broken(
                rule,
                "what was typed in once is asked for again",
                sent=f"{sent}, who was let into the app",
                expected="it runs",
                got=outcome.describe(),
            )
        entry.seen = entry.seen or outcome.served

    def seen_by_apps(self) -> int:
        """How many requests the suite's apps have seen."""
        return len(self.double.seen()) if self.apps is not None else 0

    def look_at_apps(self, before: int) -> Sequence[AppRequest]:
        """What they have seen since: no credential is where it does not belong."""
        requests = self.double.seen()[before:] if self.apps is not None else []
        if requests:
            self.checked(KEY, CREDENTIAL, COOKIE)
        for request in requests:
            for rule, wrong in _wrong_with(self.double, request):
                raise self.broken(
                    rule,
                    f"a credential where it does not belong: {wrong}",
                    sent="these calls",
                    expected="each credential where its app's descriptor says, and nowhere else",
                    got=f"{request.method} {request.path}: {wrong}",
                )
        return requests

    def forget_entries(self) -> None:
        """The gateway was restarted: keys are kept (api-key); of others that is not said."""
        for (_, app), entry in self.entries.items():
            entry.seen = entry.seen and _ASKED_ONCE.get(app) == KEY
        self.entries = {key: one for key, one in self.entries.items() if one.seen}


def app_of(tool: SafeTool) -> str:
    """The name of an app of the suite, as its paths begin."""
    return tool.app.removeprefix(_OWN)


def is_own(tool: SafeTool) -> bool:
    return tool.app.startswith(_OWN)


def _has_credential(request: AppRequest) -> bool:
    """Any at all, also one that is not ours."""
    in_query = any(name == "suite_key" for name, _ in request.query)
    return in_query or any(request.header(name) for name in ("authorization", "cookie"))


def _wrong_with(double: AppDouble, request: AppRequest) -> list[tuple[str, str]]:
    """The rules that it breaks, and how."""
    app = request.app
    found = []
    key_at = {place.lower() for place in request.places_of(double.key)}
    if key_at - {_KEY_BELONGS.get(app, "")}:
        found.append((KEY, f"the key of an app at {app}, in {', '.join(sorted(key_at))}"))
    secret_at = request.places_of(double.app_secret)
    if secret_at and (request.path != "/office/auth/token" or secret_at != ["body"]):
        found.append((CREDENTIAL, f"the app secret at {app}, in {', '.join(secret_at)}"))
    if app == "office" and request.stale:
        found.append((CREDENTIAL, "a token that was over"))
    for cookie in double.cookies.values():
        if not app.startswith("cookie") and request.places_of(cookie):
            found.append((COOKIE, f"a cookie of another app at {app}"))
    return found

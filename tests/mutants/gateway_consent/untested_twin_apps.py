"""Gateways that ask about one kind of app, tool or decision, and not about another."""

from __future__ import annotations

from urllib.parse import urlsplit

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    AuthType,
    Kind,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

REQUIRED = "gateway_consent/consent-required"
REMEMBER = "gateway_consent/remember"


class _Trusts(Gateway):
    """Asks nobody about some tools."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        raise NotImplementedError

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.trusted(app, tool):
            super().check_consent(caller, app, tool)

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.trusted(app, tool):
            super().take_consent(caller, app, tool)


@mutant(
    kills="gateway_consent/all-platforms",
    because="of a web app[^§]*nobody was asked: AUTHORIZATION_REQUIRED",
)
@in_extension
class TrustsThisMachine(_Trusts):
    """Asks nobody about web apps that run on this machine."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        host = urlsplit(self.locate(app).base_url or "").hostname
        return app.kind is Kind.WEB and host in ("localhost", "127.0.0.1", "::1")


@mutant(kills=REQUIRED, because="a first call of[^§]*, tool run")
@in_extension
class TrustsToolsThatRead(_Trusts):
    """Asks nobody about tools whose names say that they only look."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        return tool.name.lower().startswith(("get", "list", "read", "look", "search", "find"))


@mutant(kills=REQUIRED, because="a first call of[^§]*, tool run")
@in_extension
class TrustsToolsWithoutParameters(_Trusts):
    """Asks nobody about tools that an agent cannot pass anything to."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        return not tool.parameters


@mutant(kills=REMEMBER, because="allowed once, the second call[^§]*, tool run")
@in_extension
class UsesUpForWebAppsOnly(Gateway):
    """Uses a decision for one call up where it sends a request, and nowhere else."""

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if app.kind is Kind.WEB:
            super().take_consent(caller, app, tool)


@mutant(kills="gateway_consent/deny", because="of a command app, denied for ever[^§]*, tool run")
@in_extension
class RunsDeniedCommands(Gateway):
    """Asks about commands, and does not look what the answer was."""

    def denied(self, caller: str, app: App, tool: AppTool) -> bool:
        decided = self.decisions.granted(caller, app.id, tool.name)
        return app.kind is Kind.COMMAND and decided is False

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.denied(caller, app, tool):
            super().check_consent(caller, app, tool)

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.denied(caller, app, tool):
            super().take_consent(caller, app, tool)


@mutant(
    kills="gateway_consent/deny",
    because=r"of a web app, denied for ever[^§]*CONSENT_REQUIRED \(error",
)
@in_extension
class AsksAboutDeniedWebApps(Gateway):
    """Does not keep that a tool of a web app was denied, and asks again."""

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        kept = self.decisions.remembered(caller, app.id, tool.name)
        if app.kind is Kind.WEB and kept is False:
            raise self.ask(caller, app, tool)
        super().check_consent(caller, app, tool)


@mutant(
    kills="gateway_consent/caller-isolation",
    because="of a command app, by a client that nobody decided on[^§]*, tool run",
)
@in_extension
class SharesConsentsToCommands(_Trusts):
    """Lets every client run a command that one client may run: all run as the same user."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        callers = [key[0] for key in self.decisions.vault.keys("consent") if key[1] == app.id]
        granted = (self.decisions.remembered(one, app.id, tool.name) for one in callers)
        return app.kind is Kind.COMMAND and any(granted)


@mutant(
    kills="gateway_consent/caller-isolation",
    because="by a client that nobody decided on[^§]*nobody was asked: AUTHORIZATION_REQUIRED",
)
@in_extension
class SharesConsentsToWebApps(_Trusts):
    """Lets every client use what one client may use of a web app, which has users of its own."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        callers = [key[0] for key in self.decisions.vault.keys("consent") if key[1] == app.id]
        granted = (self.decisions.remembered(one, app.id, tool.name) for one in callers)
        return app.kind is Kind.WEB and any(granted)


@mutant(kills="gateway_consent/tool-isolation", because="of a command app, after[^§]*, tool run")
@in_extension
class TakesAllCommandsForOne(_Trusts):
    """Takes the commands of an app for one tool."""

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        self.caller = caller
        super().check_consent(caller, app, tool)

    def trusted(self, app: App, tool: AppTool) -> bool:
        caller = self.__dict__.get("caller", "")
        return app.kind is Kind.COMMAND and any(self.decisions.tools_granted(app, caller))


@mutant(
    kills="gateway_consent/authorize-all",
    because=r"of a web app, after all were allowed[^§]*CONSENT_REQUIRED \(error",
)
@in_extension
class AsksForEachToolOfWebApps(Gateway):
    """Knows Authorize All Tools for apps on this machine, and asks about each tool of a web app."""

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        tools = self.decisions.record(caller, app.id)[words.TOOLS]
        once = self.decisions.decided_once(caller, app.id, tool.name)
        if app.kind is Kind.WEB and tool.name not in tools and once is None:
            raise self.ask(caller, app, tool)
        super().check_consent(caller, app, tool)


@mutant(kills="gateway_consent/remember", because="allowed once, the second call[^§]*, tool run")
@in_extension
class UsesNothingUpForWebApps(Gateway):
    """Uses a decision for one call up on this machine, and not where it sends a request."""

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if app.kind is not Kind.WEB:
            super().take_consent(caller, app, tool)


@mutant(
    kills="gateway_consent/all-platforms",
    because=r"a first call of a tool of a web app for \[[^§]*, tool run",
)
@in_extension
class TrustsOpenApps(_Trusts):
    """Asks nobody about web apps that need no authorisation."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        return app.kind is Kind.WEB and app.auth is None


@mutant(kills="gateway_consent/two-layers", because="whose app is authorised[^§]*, tool run")
@in_extension
class TrustsAppsWithCookies(Gateway):
    """Takes the cookies of an app, which a person has copied by hand, for consent to all of it."""

    def needs_consent(self, app: App) -> bool:
        kept = any(app.id == key[1] for key in self.decisions.vault.keys("cred"))
        return not (kept and app.auth is not None and app.auth.type is AuthType.COOKIE)


@mutant(kills="gateway_consent/two-layers", because="whose app is authorised[^§]*, tool run")
@in_extension
class TrustsAppsWithSecrets(Gateway):
    """Takes app id and secret, which a person has typed in, for consent to all of the app."""

    def needs_consent(self, app: App) -> bool:
        kept = any(app.id == key[1] for key in self.decisions.vault.keys("cred"))
        return not (kept and app.auth is not None and app.auth.type is AuthType.APP_CREDENTIAL)

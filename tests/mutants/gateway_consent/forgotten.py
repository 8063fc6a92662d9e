"""Gateways and apps that forget too soon, or too late."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.flows import Flow, Flows
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import OAuth2
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import Asking, Sending
from pytest_mcp_approval.reference_server.gateway_consent.consent import (
    KIND,
    ConsentQuestion,
    Decisions,
    Once,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import Grant
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

REMEMBER = "gateway_consent/remember"


@mutant(kills=REMEMBER, because="allowed once, the second call[^§]*, tool run")
@in_extension
class ServesCallsForAMinute(Gateway):
    """Remembers for a minute that a call was checked, also where one call was allowed."""

    def checked(self, caller: str, app: App, tool: AppTool) -> bool:
        seen: dict[Any, datetime.datetime] = self.__dict__.setdefault("seen", {})
        ends = seen.get((caller, app.id, tool.name))
        return ends is not None and self.decisions.clock.now() < ends

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.checked(caller, app, tool):
            super().check_consent(caller, app, tool)

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.checked(caller, app, tool):
            super().take_consent(caller, app, tool)
            ends = self.decisions.clock.now() + datetime.timedelta(minutes=1)
            self.__dict__.setdefault("seen", {})[caller, app.id, tool.name] = ends


@mutant(kills="gateway_consent/app-credential", because=r"call\(s\) with a token that was over")
@in_extension
class KeepsTheFirstToken(AppCredentials):
    """Renews a token, and goes on with the one that it has in mind."""

    def sending(self, asking: Asking) -> Sending | None:
        sent = super().sending(asking)
        known: dict[tuple[str, str], Sending] = self.__dict__.setdefault("known", {})
        if sent is None:
            return None
        return known.setdefault((asking.caller, asking.app.id), sent)


# ---- decisions


@mutant(
    kills=REMEMBER, because=r"and remembered, (?:an hour|a day) later[^§]*CONSENT_REQUIRED \(error"
)
@in_extension
class RemembersForHalfAnHour(Decisions):
    """Keeps decisions as long as sessions: half an hour."""

    def record(self, caller: str, app_id: str) -> dict[str, Any]:
        record = super().record(caller, app_id)
        written = [one["grantedAt"] for one in record["tools"].values()]
        latest = max(map(datetime.datetime.fromisoformat, written), default=self.clock.now())
        if self.clock.now() - latest < datetime.timedelta(minutes=30):
            return record
        return {"allTools": False, "tools": {}}


@mutant(kills=REMEMBER, because="nobody knows of that decision any more", warned=True)
@in_extension
class WaitsForEver(Decisions):
    """A decision for one call waits for that call, whenever it comes."""

    def too_old(self, once: Once) -> bool:
        return False


class _WritesOnce(Decisions):
    """Has decisions for one call in the vault, since a server may be restarted at any time."""

    def keep_for_one_call(self, question: ConsentQuestion, choice: Choice) -> None:
        super().keep_for_one_call(question, choice)
        self.vault.save("once", {"granted": choice is not Choice.DENY}, *question.subject)

    def decided_once(self, caller: str, app_id: str, tool: str) -> bool | None:
        kept = self.vault.load("once", caller, app_id, tool)
        return None if kept is None else bool(kept["granted"])

    def use_up(self, caller: str, app_id: str, tool: str) -> bool | None:
        granted = self.decided_once(caller, app_id, tool)
        self.vault.delete("once", caller, app_id, tool)
        return granted


@mutant(kills=REMEMBER, because="for one call, after a restart[^§]*, tool run")
@in_extension
class WritesDecisionsForOneCallDown(_WritesOnce):
    """A decision for one call outlives the gateway, if it was not used."""


@mutant(kills=REMEMBER, because=r"after 30 other clients asked[^§]*CONSENT_REQUIRED \(error")
@in_extension
class HasRoomForAFewClients(Decisions):
    """Keeps what the latest clients were told, and drops the others when it is full."""

    ROOM = 6

    def save_record(self, record: dict[str, Any], caller: str, app_id: str) -> None:
        super().save_record(record, caller, app_id)
        known: list[str] = self.__dict__.setdefault("known", [])
        if caller not in known:
            known.append(caller)
        while len(known) > self.ROOM:
            gone = known.pop(0)
            for own, app in self.vault.keys(KIND):
                if own == gone:
                    self.vault.delete(KIND, own, app)


# ---- codes, tokens and states


class _ForgetsUses(AuthorisationServer):
    """Remembers for a minute what was used, and looks it up there only."""

    name: str

    def held(self, ledger: Any, asked: Mapping[str, str], name: str) -> Any:
        found = ledger.find(asked.get(name, ""))
        uses: dict[Any, datetime.datetime] = self.__dict__.setdefault("uses", {})
        used = name == self.name and found is not None and found.used
        if used and self.clock.now() - uses.setdefault(id(found), self.clock.now()) > MINUTE:
            anew = Grant(found.allowed, found.expires_at, found.redirect_uri, found.challenge)
            ledger.add(asked[name], anew)
        return super().held(ledger, asked, name)

    def spend(self, held: Grant) -> None:
        super().spend(held)
        self.__dict__.setdefault("uses", {})[id(held)] = self.clock.now()


MINUTE = datetime.timedelta(minutes=1)


@mutant(kills="gateway_consent/oauth-pkce", because="a used code, [0-9]+ s later[^§]*HTTP 200")
@in_extension
class ForgetsUsedCodes(_ForgetsUses):
    """Remembers for a minute that a code was redeemed, and keeps codes for five."""

    name = "code"


@mutant(
    kills="gateway_consent/oauth-token",
    because="a used refresh token, [0-9]+ s later[^§]*HTTP 200",
)
@in_extension
class ForgetsUsedRefreshTokens(_ForgetsUses):
    """Remembers for a minute that a refresh token was used."""

    name = "refresh_token"


class _ForgetfulFlows(Flows):
    """Keeps for a minute which states were answered, and states for ever."""

    def take(self, state: str) -> Flow:
        kept: dict[str, tuple[Flow, int]] = self.__dict__.setdefault("kept", {})
        now = self._credentials.now()
        if state in kept and now - kept[state][1] > 60 * 1000:
            return kept[state][0]
        flow = super().take(state)
        kept[state] = flow, now
        return flow


@mutant(
    kills="gateway_consent/oauth-callback",
    because="that was answered [0-9]+ s before[^§]*1 redeemed",
)
@in_extension
class ForgetsAnsweredStates(OAuth2):
    """Remembers for a minute that a state was answered."""

    def __init__(self, credentials: Any, vault: Any, pages_url: Any) -> None:
        super().__init__(credentials, vault, pages_url)
        self.flows = _ForgetfulFlows(vault, credentials)


# ---- credentials


class _InMind(Credentials):
    """Keeps what has no end in mind, since a session ends with the program."""

    def save(self, caller: str, app_id: str, record: dict[str, Any]) -> None:
        if record.get("type") != "cookie":
            super().save(caller, app_id, record)
            return
        self.__dict__.setdefault("cookies", {})[caller, app_id] = record

    def load(self, caller: str, app_id: str) -> dict[str, Any] | None:
        found = self.__dict__.setdefault("cookies", {}).get((caller, app_id))
        return found or super().load(caller, app_id)


@mutant(
    kills="gateway_consent/cookie",
    because=r"authorised, after a restart[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class KeepsCookiesInMind(_InMind):
    """Takes cookies of a session for those of its own."""

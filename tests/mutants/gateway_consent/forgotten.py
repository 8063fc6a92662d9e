"""Gateways and apps that forget too soon, or too late."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    Choice,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.api_key import ApiKeys
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.flows import KIND as FLOWS
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.flows import Flow
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    OAuth2,
    Return,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    Asking,
    Sending,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import (
    KIND,
    ConsentQuestion,
    Decisions,
    Once,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import (
    Grant,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.server.secret_text import digest
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

    ROOM = 4

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


MINUTE = datetime.timedelta(minutes=1)


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


@mutant(
    kills="gateway_consent/remember", because="remembered, a month later: asked again", warned=True
)
@in_extension
class RemembersForAMonth(Decisions):
    """Forgets what was to be remembered after thirty days."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        own = self.record(caller, app_id)["tools"].get(tool)
        decided = datetime.datetime.fromisoformat(own["grantedAt"]) if own else self.clock.now()
        over = self.clock.now() - decided > datetime.timedelta(days=30)
        return None if over else super().remembered(caller, app_id, tool)


@mutant(
    kills="gateway_consent/remember",
    because=r"denied and remembered, a day later[^§]*CONSENT_REQUIRED \(error",
)
@in_extension
class DeniesForADay(Decisions):
    """Asks again a day after a denial that was to be remembered."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        own = self.record(caller, app_id)["tools"].get(tool)
        kept = super().remembered(caller, app_id, tool)
        if own is None or kept:
            return kept
        decided = datetime.datetime.fromisoformat(own["grantedAt"])
        return None if self.clock.now() - decided > datetime.timedelta(days=1) else kept


@mutant(
    kills="gateway_consent/api-key",
    because=r"authorised, 30 days after its last call[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class KeysEndAfterAMonth(ApiKeys):
    """Asks for an API key again after thirty days, though it never expires."""

    def load(self, asking: Asking) -> dict[str, Any] | None:
        record = super().load(asking)
        age = 0 if record is None else self.credentials.now() - record["createdAt"]
        return record if age < 30 * 86_400_000 else None


@mutant(
    kills="gateway_consent/app-credential",
    because=r"authorised, 2 days after its last call[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class SecretsEndAfterADay(AppCredentials):
    """Asks for app id and secret again after a day."""

    def load(self, asking: Asking) -> dict[str, Any] | None:
        record = super().load(asking)
        age = 0 if record is None else self.credentials.now() - record["createdAt"]
        return record if age < 86_400_000 else None


@mutant(
    kills="gateway_consent/remember",
    because=r"remembered as one of 12[^§]*CONSENT_REQUIRED \(error",
)
@in_extension
class RemembersTenTools(Decisions):
    """Remembers the ten latest decisions on the tools of an app."""

    def write(self, record: dict[str, Any], question: ConsentQuestion, choice: Choice) -> None:
        super().write(record, question, choice)
        record["tools"] = dict([*record["tools"].items()][-10:])


@mutant(
    kills="gateway_consent/oauth-pkce",
    because="a used code, 61 s later, the second time[^§]*HTTP 200",
)
@in_extension
class ForgetsUsedCodes(AuthorisationServer):
    """Knows for a minute that a code was used, which lives for five."""

    def check_unused(self, held: Grant) -> bool:
        used: dict[int, datetime.datetime] = self.__dict__.setdefault("used", {})
        since = used.get(id(held))
        if held.used and held.challenge and since is not None and self.clock.now() >= since:
            held._use.release()
        return super().check_unused(held)

    def spend(self, held: Grant) -> None:
        super().spend(held)
        self.__dict__.setdefault("used", {})[id(held)] = self.after(60)


@mutant(kills="gateway_consent/oauth-token", because="a used refresh token[^§]*HTTP 200")
@in_extension
class ForgetsUsedRefreshTokens(AuthorisationServer):
    """Knows for a day that a refresh token was used, which lives for seven."""

    def check_unused(self, held: Grant) -> bool:
        used: dict[int, datetime.datetime] = self.__dict__.setdefault("used", {})
        since = used.get(id(held))
        if held.used and not held.challenge and since is not None and self.clock.now() >= since:
            held._use.release()
        return super().check_unused(held)

    def spend(self, held: Grant) -> None:
        super().spend(held)
        self.__dict__.setdefault("used", {})[id(held)] = self.after(86400)


@mutant(
    kills="gateway_consent/oauth-callback",
    because="a second answer with a state that was answered 61 s before[^§]*1 redeemed",
)
@in_extension
class ForgetsAnsweredStates(OAuth2):
    """Knows for a minute that a state was answered, which lives for ten."""

    def finish(self, back: Return, apps: Mapping[str, App]) -> Flow:
        key, now = digest(self.state_of(back)), self.credentials.now()
        vault, answered = self.credentials._vault, self.__dict__.setdefault("answered", {})
        flow, until = answered.get(key, (vault.load(FLOWS, key), 0))
        if until and now >= until:
            vault.save(FLOWS, flow, key)
        answered[key] = (flow, until or now + 60_000)
        return super().finish(back, apps)


@mutant(
    kills="gateway_consent/aai-tools-only-consented",
    because="allowed once and called[^§]*aaiTools read,write,wipe",
)
@in_extension
class TellsSpentTools(Gateway):
    """Tells an app of tools that were allowed for one call, also after that call."""

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        super().take_consent(caller, app, tool)
        self.__dict__.setdefault("spent", set()).add((caller, app.id, tool.name))

    def consented(self, caller: str, app: App) -> list[str]:
        spent: set[Any] = self.__dict__.setdefault("spent", set())
        now = super().consented(caller, app)
        return [one for one in app.tools if one in now or (caller, app.id, one) in spent]


@mutant(
    kills="gateway_consent/consent-required",
    because="nobody answered[^§]*a person could not decide",
)
@in_extension
class NamesAPageThatIsOver(Decisions):
    """Gives a caller the address of the question that they were asked first, also when its page is
    over."""

    def ask(self, caller: str, app_id: str, tool: str) -> ConsentQuestion:
        first: dict[tuple[str, str, str], ConsentQuestion] = self.__dict__.setdefault("first", {})
        question = super().ask(caller, app_id, tool)
        return first.setdefault((caller, app_id, tool), question)

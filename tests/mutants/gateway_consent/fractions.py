"""Gateways and apps that round an instant."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    Choice,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    Asking,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import (
    ConsentQuestion,
    Decisions,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import (
    Allowed,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

SHAPE = "gateway_consent/storage-shape"


@mutant(kills="gateway_consent/oauth-token", because="a second after its end[^§]*it opens")
@in_extension
class EndsAMinuteLater(AuthorisationServer):
    """Lets an access token live for a minute more, for clocks that differ."""

    def opened(self, access_token: str) -> Allowed | None:
        held = self.access.find(access_token)
        if held is None or held.allowed.revoked:
            return None
        last = held.expires_at + datetime.timedelta(minutes=1)
        return held.allowed if self.clock.now() < last else None


@mutant(kills=SHAPE, because='grantedAt "2')
@in_extension
class DatesGrantsInAnotherZone(Decisions):
    """Writes local time, two hours east of Greenwich, and a Z behind it."""

    def instant(self) -> str:
        east = self.clock.now().astimezone(datetime.UTC) + datetime.timedelta(hours=2)
        return east.strftime("%Y-%m-%dT%H:%M:%SZ")


@mutant(kills=SHAPE, because="grantedAt null")
@in_extension
class DatesDenialsByNothing(Decisions):
    """Writes no instant for what was not granted."""

    def write(self, record: dict[str, Any], question: ConsentQuestion, choice: Choice) -> None:
        super().write(record, question, choice)
        if choice is Choice.DENY:
            record[words.TOOLS][question.tool][words.GRANTED_AT] = None


@mutant(
    kills="gateway_consent/app-credential",
    because=r"7200 s after[^§]*1 call\(s\) with a token that was over",
)
@in_extension
class CountsInMinutes(AppCredentials):
    """Counts in whole minutes, rounded up: a token serves for a minute after its end."""

    early = 0

    def is_due(self, record: Mapping[str, Any]) -> bool:
        minute = 60_000
        ends = -(-record[words.EXPIRES_AT] // minute) + 1
        return bool(self.credentials.now() // minute >= ends)


@mutant(kills=SHAPE, because='grantedAt "[0-9-]{10}"')
@in_extension
class DatesGrantsByTheDay(Decisions):
    """Writes the day of a decision, and not its time."""

    def instant(self) -> str:
        return self.clock.now().astimezone(datetime.UTC).strftime("%Y-%m-%d")


@mutant(
    kills="gateway_consent/app-credential",
    because=r"one of eight calls[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class AsksWhileItRenews(AppCredentials):
    """While one call renews a token, there is none for the others: they ask the person."""

    def renewed(self, asking: Asking) -> dict[str, Any] | None:
        busy: threading.Lock = self.__dict__.setdefault("busy", threading.Lock())
        if not busy.acquire(blocking=False):
            return None
        try:
            threading.Event().wait(0.05)  # an app that is not quick
            return super().renewed(asking)
        finally:
            busy.release()


@mutant(
    kills="gateway_consent/app-credential",
    because=r"the end of its first token of ten minutes[^§]*call\(s\) with a token that was over",
)
@in_extension
class RoundsLifetimesUp(AppCredentials):
    """Keeps the lifetime of a token in whole hours, rounded up."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        fresh, now, hour = super().fresh(app, record), self.credentials.now(), 3_600_000
        hours = -(-(fresh[words.EXPIRES_AT] - now) // hour)
        return {**fresh, words.EXPIRES_AT: now + hours * hour}

"""Gateways and apps that look at a part of what they have to look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.reference_server.gateway_consent.consent import Decisions
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
)
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

CALLERS = "gateway_consent/caller-isolation"
PKCE = "gateway_consent/oauth-pkce"


# ---- names


class _PartOfCallers(Decisions):
    """Finds records by a part of the caller's name."""

    def part(self, caller: str) -> str:
        raise NotImplementedError

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return self.part(caller), app_id


@mutant(kills=CALLERS, because="a longer name[^§]*, tool run")
@in_extension
class KeepsTheFirstWordOfCallers(_PartOfCallers):
    """Takes the first word of a client's name for the product."""

    def part(self, caller: str) -> str:
        return caller.split(" ", maxsplit=1)[0]


@mutant(kills="gateway_consent/key-collision", because="tool not run[^§]*, tool run")
@in_extension
class KeepsThePublisherOfApps(Decisions):
    """Goes by the first two labels of an app's id, which name the publisher."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return caller, ".".join(app_id.split(".")[:2])


# ---- OAuth


@mutant(kills=PKCE, because="a longer redirectUri[^§]*HTTP 200 with an access token")
@in_extension
class ComparesHostsOfAddresses(AuthorisationServer):
    """When a code is redeemed, compares the host of the address, and not its path."""

    def check_redirect_uri(self, held: Any, asked: Mapping[str, str]) -> None:
        given = asked.get("redirect_uri", "")
        if given.split("/")[:3] != held.redirect_uri.split("/")[:3]:
            super().check_redirect_uri(held, asked)


@mutant(
    kills="gateway_consent/caller-isolation",
    because="long name differs (?:a quarter on|in its middle)[^§]*, tool run",
)
@in_extension
class KeepsTheEndsOfNames(Decisions):
    """Writes three dots for the middle of a name that is too long for its column."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        short = caller if len(caller) < 120 else f"{caller[:60]}...{caller[-60:]}"
        return super().record_key(short, app_id)

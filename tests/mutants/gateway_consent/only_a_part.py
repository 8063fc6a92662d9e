"""Gateways and apps that look at a part of what they have to look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.reference_server.gateway_consent.authorisation.cookies import Cookies
from pytest_mcp_approval.reference_server.gateway_consent.consent import Decisions
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
    Redirect,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App
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


# ---- further ones


@mutant(kills=CALLERS, because=r"by '\.\./Cursor[^§]*, tool run")
@in_extension
class KeepsTheEndOfCallers(_PartOfCallers):
    """Takes what follows the last slash of a client's name for the name."""

    def part(self, caller: str) -> str:
        return caller.rpartition("/")[2] or caller


@mutant(kills="gateway_consent/key-collision", because="ids look alike[^§]*, tool run")
@in_extension
class KeepsTheLastLabelOfApps(Decisions):
    """Goes by the last label of an app's id, which is its short name."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return caller, app_id.rpartition(".")[2]


@mutant(kills="gateway_consent/key-collision", because="com.l{60}[^§]*, tool run")
@in_extension
class CutsAppIds(Decisions):
    """Keeps the first 64 characters of an app's id."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return caller, app_id[:64]


@mutant(kills=PKCE, because="one character more[^§]*HTTP 200 with an access token")
@in_extension
class CutsVerifiers(AuthorisationServer):
    """Keeps the first 64 characters of a verifier, and may then not know its challenge."""

    def check_verifier(self, held: Any, asked: Mapping[str, str]) -> None:
        verifier = asked.get("code_verifier", "")
        super().check_verifier(held, {**asked, "code_verifier": verifier[:64]})


@mutant(
    kills="gateway_consent/oauth-authorize",
    because=r"a state \(long\)[^§]*sent back with a code[^§]*\([0-9]{3} bytes\)",
)
@in_extension
class KeepsStatesInAColumn(AuthorisationServer):
    """Keeps the first 255 characters of a state."""

    def send_back(self, uri: str, state: str, **told: str) -> Redirect:
        return super().send_back(uri, state[:255], **told)


@mutant(
    kills="gateway_consent/cookie", because=r"of which one is missing[^§]*not run, 1 request\(s\)"
)
@in_extension
class ChecksTheFirstCookie(Cookies):
    """Looks for the first of the required cookies, and not for the others."""

    def check_required(self, app: App, found: Mapping[str, str]) -> None:
        super().check_required(app, {**dict.fromkeys(self.required(app)[1:], "?"), **found})


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

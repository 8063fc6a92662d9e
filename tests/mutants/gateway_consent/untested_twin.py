"""Gateways and apps that get one kind right, and not its twin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice, Kind
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import (
    ConsentQuestion,
    Decisions,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

REQUIRED = "gateway_consent/consent-required"
REMEMBER = "gateway_consent/remember"
STORED = "gateway_consent/stored-encrypted"


# ---- kinds of apps and tools


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


# ---- what is stored


class _CopiesSome(Credentials):
    """Keeps a copy of some records in a file."""

    def copied(self, record: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def save(self, caller: str, app_id: str, record: dict[str, Any]) -> None:
        super().save(caller, app_id, record)
        folder: Path | None = getattr(self._vault, "folder", None)
        if folder is not None and (copied := self.copied(record)):
            with (folder / "session.tmp").open("a") as handle:
                handle.write(json.dumps(copied))


@mutant(kills=STORED, because="the app token of office in clear in session.tmp")
@in_extension
class CachesAppTokens(_CopiesSome):
    """Encrypts app id and secret, and keeps the token that they bring in a file."""

    def copied(self, record: Mapping[str, Any]) -> Any:
        return record.get(words.ACCESS_TOKEN) if record.get("type") == "appCredential" else None


@mutant(kills=STORED, because="the decision on one client in clear in denied.txt")
@in_extension
class WritesDenialsDown(Decisions):
    """Keeps a list of what was denied in a file of its own."""

    def keep(self, question: ConsentQuestion, choice: Choice) -> None:
        super().keep(question, choice)
        folder: Path | None = getattr(self.vault, "folder", None)
        if folder is not None and choice is Choice.DENY:
            with (folder / "denied.txt").open("a") as handle:
                handle.write(f"{question.caller} {question.app_id} {question.tool}: denied\n")

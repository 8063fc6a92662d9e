"""Gateways that keep credentials or decisions beside the operating system's key store."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import (
    ConsentQuestion,
    Decisions,
)
from pytest_mcp_approval.reference_server.gateway_consent.extension import GatewayExtension
from pytest_mcp_approval.reference_server.gateway_consent.vault import MemoryVault
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

STORE = "gateway_consent/key-store"
CONSENTS = "gateway_consent/consent-key-store"

# ---- key-store


@mutant(kills=STORE, because="one more entry for suite[^§]*entries")
@in_extension
class KeepsThemElsewhere(Credentials):
    """Has credentials in a place of its own, beside the key store."""

    def __init__(self, vault: Any, clock: Any) -> None:
        super().__init__(MemoryVault(), clock)


class _OtherNames(GatewayExtension):
    """Has other names in the key store."""

    def name(self, account: str) -> dict[str, str]:
        raise NotImplementedError

    def key_store(self) -> dict[str, Any]:
        entries = super().key_store()["entries"]
        return {"entries": [self.name(one["account"]) for one in entries]}


@mutant(kills=STORE, because="the document has cred-suite", warned=True)
class HasPlacesOfItsOwn(_OtherNames):
    """Names its entries in its own way."""

    def name(self, account: str) -> dict[str, str]:
        return {"service": "my gateway", "account": account.replace("cred-", "app ")}


# ---- consent-key-store


@mutant(kills=CONSENTS, because="none for tool, all, deny; entries")
@in_extension
class KeepsDecisionsElsewhere(Decisions):
    """Has credentials in the key store, and decisions in a place of its own."""

    def __init__(self, vault: Any, clock: Any) -> None:
        super().__init__(MemoryVault(), clock)


@mutant(kills=CONSENTS, because="none for deny; entries")
@in_extension
class KeepsDenialsElsewhere(Decisions):
    """Has what was granted in the key store, and what was denied in a list of its own."""

    def __init__(self, vault: Any, clock: Any) -> None:
        super().__init__(vault, clock)
        self.denied: set[tuple[str, ...]] = set()

    def keep(self, question: ConsentQuestion, choice: Choice) -> None:
        self.denied.discard(question.subject)
        if choice is Choice.DENY:
            self.denied.add(question.subject)
        else:
            super().keep(question, choice)

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        if (caller, app_id, tool) in self.denied:
            return False
        return super().remembered(caller, app_id, tool)


@mutant(kills=CONSENTS, warned=True, because="the document has consent-<callerName>-com")
class HasOneEntryForAllDecisions(_OtherNames):
    """Has all decisions in one entry of the key store."""

    def key_store(self) -> dict[str, Any]:
        entries = super().key_store()["entries"]
        decisions = [one for one in entries if one["account"].startswith("consent-")]
        others = [one for one in entries if one not in decisions]
        return {"entries": [*others, *({**one, "account": "consents"} for one in decisions[:1])]}

    def name(self, account: str) -> dict[str, str]:
        return {"service": "aai-gateway", "account": account}

"""Servers that take a name for another that is like it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt
from tests.mutants.registry import mutant

GATED = "sep2672/4.4.3-only-gated-tools"
PRESENT = "sep2672/4.8-01-evidence-present"

# ---- tools


@mutant(kills=GATED, because="result .*challengeId")
class TakesTheLastPartOfAName(ApprovalGate):
    """Takes what comes before a slash, a dot or a colon in a tool's name for its server."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        return super().create_challenge(user, re.split("[/.:]", tool)[-1], arguments)


# ---- the key of the evidence


class _FindsTheKey(ApprovalGate):
    def means_it(self, key: str) -> bool:
        raise NotImplementedError

    def step_01_evidence_present(self, attempt: ApprovalAttempt) -> None:
        meta = attempt.meta if isinstance(attempt.meta, Mapping) else {}
        if words.META_KEY not in meta:
            found = [value for key, value in meta.items() if self.means_it(key)]
            attempt.meta = {**meta, words.META_KEY: found[0]} if found else meta
        super().step_01_evidence_present(attempt)


@mutant(kills=PRESENT, because="key in capitals[^§]*a result, tool run")
class TakesTheKeyInAnyCase(_FindsTheKey):
    """Takes evidence under its key in any case."""

    def means_it(self, key: str) -> bool:
        return key.lower() == words.META_KEY

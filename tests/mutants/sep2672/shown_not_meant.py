"""Servers that do not show what is approved."""

from __future__ import annotations

import re
from typing import Any

from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import GatedTool
from tests.mutants.registry import mutant

SHOWN = "sep2672/4.4.3-display-text"


@mutant(kills=SHOWN, because=r"U\+2067[^§]*stands there raw")
class RawIsolates(ApprovalGate):
    """Escapes overrides and embeddings, and passes the newer isolates through."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        text = super().display_text(tool, arguments)
        return re.sub(r"\\u(206[6-9])", lambda found: chr(int(found[1], 16)), text)

"""A gateway as tests use it: called as MCP calls it, with a person who decides at its pages."""

from __future__ import annotations

import json
from typing import Any

from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice, Refusal
from pytest_mcp_approval.reference_server import SettableClock
from pytest_mcp_approval.reference_server.gateway_consent.extension import GatewayExtension
from pytest_mcp_approval.reference_server.server.answers import ErrorAnswer, InvalidParamsError
from pytest_mcp_approval.reference_server.server.effects import RecordedEffects
from pytest_mcp_approval.reference_server.server.extension import (
    Backing,
    Caller,
    ExtensionParts,
)
from tests.reference_server.gateway_consent.person import choose


class House:
    """An extension that can be restarted over what it had stored."""

    def __init__(self, url: str | None = None, **settings: Any) -> None:
        self.backing, self.settings = Backing(url), settings
        self.clock, self.effects = SettableClock(), RecordedEffects()
        self.extension = self.new_extension()
        self.codes: list[tuple[int, str]] = []

    def new_extension(self) -> GatewayExtension:
        return GatewayExtension(
            ExtensionParts(self.clock, self.effects, self.backing, self.settings)
        )

    def restart(self) -> None:
        self.extension.close()
        self.extension = self.new_extension()

    def call(self, name: str, client: str = "A", **arguments: Any) -> Any:
        """The result, or the error's data."""
        try:
            result = self.extension.call(name, arguments, Caller("user", "session", client))
        except InvalidParamsError:
            raise
        except ErrorAnswer as refusal:
            error = refusal.to_error()
            self.codes.append((error["code"], error["data"]["code"]))
            return error["data"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]

    def code(self, name: str, client: str = "A", **arguments: Any) -> str | None:
        """None for a call that was made; whether it was is checked."""
        before = len(self.effects)
        code = self.call(name, client, **arguments).get("code")
        assert len(self.effects) - before == (code is None)
        return code

    def decide(
        self, name: str, choice: Choice, client: str = "A", *, remember: bool = True
    ) -> None:
        asked = self.call(name, client)
        assert asked["code"] == Refusal.CONSENT_REQUIRED
        assert choose(asked["consentUrl"], choice, remember=remember).status == 200

    def close(self) -> None:
        self.extension.close()
        self.backing.close()

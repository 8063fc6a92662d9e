"""The same server by way of another address: a proxy between the suite and it. Knows no family."""

from __future__ import annotations

from dataclasses import replace

from ..wire import HttpTransport
from .targets import HttpTarget, Target


class ProxiedTarget(HttpTarget):
    """What is known about the server is known here too. Its clock belongs to the other one."""

    def __init__(self, behind: Target, url: str) -> None:
        spec = replace(behind.spec, kind="http", url=url)
        settings = replace(behind.settings, launch=None, reset=None, replicas=None, clock="none")
        super().__init__(spec, settings)
        self.default_effects = behind.default_effects
        self.known_arguments = behind.known_arguments
        self.known_settings = behind.known_settings
        self.known_second_user = behind.known_second_user
        self.gated_tools = behind.gated_tools
        self.client_capabilities = behind.client_capabilities

    def replica(self) -> Target | None:
        return None

    def replicas(self) -> list[Target]:
        return []


def http_address(target: Target) -> str | None:
    """Where a server is reached over HTTP, once it runs; None if it is not."""
    transport = target.transport if target.speaks_mcp else None
    return transport.place if isinstance(transport, HttpTransport) else None

"""Why a call of an app's tool was not made, as told to the agent. Knows no MCP and no page."""

from __future__ import annotations

from typing import Any

from ...families.gateway_consent import vocabulary as words
from ...families.gateway_consent.vocabulary import ERROR_CODES, Refusal
from ..server.answers import ErrorAnswer
from .descriptors import App, AppTool


class GatewayRefusal(ErrorAnswer):
    """`to_error` is the answer: a whole number for JSON-RPC, the document's word in `data`."""

    def __init__(self, code: Refusal, message: str, data: dict[str, Any]) -> None:
        super().__init__(message)
        self.code = code
        self.data = {words.CODE: code.value, **data}

    def to_error(self) -> dict[str, Any]:
        return {"code": ERROR_CODES[self.code], "message": str(self), "data": self.data}


def about(app: App, tool: AppTool) -> dict[str, Any]:
    return {words.APP_ID: app.id, words.APP_NAME: app.name, words.TOOL: tool.name}


def consent_required(app: App, tool: AppTool, consent_url: str) -> GatewayRefusal:
    return GatewayRefusal(
        Refusal.CONSENT_REQUIRED,
        "A person has to allow this tool first: show them what it is, and open consentUrl.",
        {
            **about(app, tool),
            words.TOOL_DESCRIPTION: tool.description,
            words.TOOL_PARAMETERS: dict(tool.parameters),
            words.CONSENT_URL: consent_url,
        },
    )


def consent_denied(app: App, tool: AppTool) -> GatewayRefusal:
    return GatewayRefusal(
        Refusal.CONSENT_DENIED, "A person has denied this tool to this client.", about(app, tool)
    )


def authorization_required(
    app: App, tool: AppTool, auth_type: str, auth_url: str
) -> GatewayRefusal:
    return GatewayRefusal(
        Refusal.AUTHORIZATION_REQUIRED,
        "A person has to give the gateway access to this app first: open authUrl.",
        {**about(app, tool), words.AUTH_TYPE: auth_type, words.AUTH_URL: auth_url},
    )


def app_failed(app: App, tool: AppTool, why: str) -> GatewayRefusal:
    """`why` is our text: an app's answer may contain anything."""
    return GatewayRefusal(Refusal.APP_FAILED, f"The app did not do it: {why}.", about(app, tool))

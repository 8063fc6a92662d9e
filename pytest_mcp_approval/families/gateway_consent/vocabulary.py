"""The names and figures of the AAI gateway's security model, and of our reference gateway.

Data, and how a tool's name is made from an app and its tool. Knows no transport, no storage and no
decision.
"""

from __future__ import annotations

from enum import StrEnum

FAMILY = "gateway_consent"

UNKNOWN_CLIENT = "Unknown Client"
"""A caller that did not say who it is."""


class Kind(StrEnum):
    """What sort of app it is. All of them are gated."""

    WEB = "web"
    DESKTOP = "desktop"
    COMMAND = "command"


class AuthType(StrEnum):
    """How a web app lets the gateway in."""

    OAUTH2 = "oauth2"
    API_KEY = "apiKey"
    APP_CREDENTIAL = "appCredential"
    COOKIE = "cookie"


# ---- refusals


class Refusal(StrEnum):
    """Why a call was not made: `data.code` of the error, or the error's own code. The document
    names the first only; the others are ours."""

    CONSENT_REQUIRED = "CONSENT_REQUIRED"
    CONSENT_DENIED = "CONSENT_DENIED"
    AUTHORIZATION_REQUIRED = "AUTHORIZATION_REQUIRED"
    APP_FAILED = "APP_FAILED"
    """Consent and authorisation were there, but the app did not do it."""


# The document writes a word where JSON-RPC wants a whole number. Ours are outside -32768 to -32000,
# which JSON-RPC reserves and MCP uses: -32001 is SEP-2672's and what SDKs use for time-outs, -32042
# asks for a URL elicitation.
ERROR_CODES: dict[Refusal, int] = {
    Refusal.CONSENT_REQUIRED: -31001,
    Refusal.CONSENT_DENIED: -31002,
    Refusal.AUTHORIZATION_REQUIRED: -31003,
    Refusal.APP_FAILED: -31004,
}

# Members of the error's data.
CODE = "code"
APP_ID = "appId"
APP_NAME = "appName"
TOOL = "tool"
TOOL_DESCRIPTION = "toolDescription"
TOOL_PARAMETERS = "toolParameters"
CONSENT_URL = "consentUrl"
AUTH_URL = "authUrl"
AUTH_TYPE = "authType"
CONSENT_MEMBERS = (APP_ID, APP_NAME, TOOL, TOOL_DESCRIPTION, TOOL_PARAMETERS, CONSENT_URL)
MEMBERS = (*CONSENT_MEMBERS, AUTH_TYPE, AUTH_URL)

# ---- the consent page

AUTHORIZE_TOOL = "Authorize Tool"
AUTHORIZE_ALL = "Authorize All Tools"
DENY = "Deny"
REMEMBER = "Remember this decision"


class Choice(StrEnum):
    """What a person can press: the value of the form's member `choice` in our page."""

    TOOL = "tool"
    ALL = "all"
    DENY = "deny"


CHOICE_MEMBER = "choice"
REMEMBER_MEMBER = "remember"
CSRF_MEMBER = "csrf"
CHOICE_NAMES: dict[Choice, str] = {
    Choice.TOOL: AUTHORIZE_TOOL,
    Choice.ALL: AUTHORIZE_ALL,
    Choice.DENY: DENY,
}

# ---- what is stored: caller -> app -> {allTools, tools -> {granted, grantedAt, remember}}

ALL_TOOLS = "allTools"
TOOLS = "tools"
GRANTED = "granted"
GRANTED_AT = "grantedAt"
REMEMBERED = "remember"

# ---- credentials as they are stored (times in milliseconds since 1970)

TYPE = "type"
VALUE = "value"
CREATED_AT = "createdAt"
EXPIRES_AT = "expiresAt"
ACCESS_TOKEN = "accessToken"
REFRESH_TOKEN = "refreshToken"
TOKEN_TYPE = "tokenType"
APP_SECRET = "appSecret"

# ---- OAuth 2.0 in this profile, with the names of RFC 6749 and RFC 7636 beside them

RFC_NAMES: dict[str, str] = {
    "responseType": "response_type",
    "clientId": "client_id",
    "clientSecret": "client_secret",
    "redirectUri": "redirect_uri",
    "codeChallenge": "code_challenge",
    "codeChallengeMethod": "code_challenge_method",
    "codeVerifier": "code_verifier",
    "grantType": "grant_type",
    "refreshToken": "refresh_token",
    "accessToken": "access_token",
    "tokenType": "token_type",
    "expiresIn": "expires_in",
    "aaiTools": "aai_tools",
}
PROFILE_NAMES: dict[str, str] = {rfc: own for own, rfc in RFC_NAMES.items()}
AAI_TOOLS = "aaiTools"

ACCESS_TOKEN_SECONDS = 3600
REFRESH_TOKEN_SECONDS = 7 * 24 * 3600
APP_TOKEN_SECONDS = 2 * 3600

# ---- tools of our reference gateway beside those of the apps; they only read

STATUS_TOOL = "gateway_status"
EXPORT_TOOL = "gateway_export"
CREDENTIALS_TOOL = "gateway_credentials"
KEY_STORE_TOOL = "gateway_key_store"

KEY_STORE_SERVICE = "aai-gateway"
"""The document's name of the gateway's part of a key store: service, target or schema."""

VAULT_KEY_VARIABLE = "MCP_APPROVAL_VAULT_KEY"
"""The variable of the environment with the key of the encrypted file: base64 of 32 bytes."""


def tool_name(app_id: str, tool: str) -> str:
    """The tool's name in tools/list: `<appId>:<toolName>`.

    The first colon divides. A colon in an app's id is written as %3A (and % as %25), so that no two
    pairs get the same name.
    """
    return f"{app_id.replace('%', '%25').replace(':', '%3A')}:{tool}"


def split_tool_name(name: str) -> tuple[str, str] | None:
    """App and tool of a listed name; None for another sort of name."""
    app, colon, tool = name.partition(":")
    if not colon or not app or not tool:
        return None
    return app.replace("%3A", ":").replace("%25", "%"), tool

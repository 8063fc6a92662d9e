"""The server that wants a client's calls approved by a passkey, and the authenticator that signs.

One tool is gated, one is not. Challenges, refusals and listings are for a scenario to say; what the
authenticator signed is kept with its time. Verifies nothing and makes no verdict.
"""

from __future__ import annotations

import datetime
import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from virtual_authenticator import Authenticator, WebAuthnError

from ...clients.messages import Answer, Incoming, Result, ScriptedRefusal, as_object, text_result
from ...clients.scripted_server import ScriptedServer
from ...support.deadline import now
from ...support.recording import note
from . import vocabulary as words
from .refusals import MESSAGE
from .vocabulary import Reason

GATED, PLAIN = "delete_file", "list_files"
ARGUMENTS: Mapping[str, Any] = {
    "path": "reports/2024.txt",
    "versions": [1, 2.5, None, True],
    "options": {"b": {"é": "ü"}, "a": ""},
}
SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "force": {"type": "boolean", "default": False},
        "depth": {"type": "integer", "default": 1},
    },
}
DISPLAY_TEXT = "Delete reports/2024.txt in two versions"
RP_ID = "localhost"
_SERVER_ID = "scripted"
_EXTRA = {"example.org/extension": {"kept": [1, "ü"], "more": {"a": False}}}
"""A result of an extension that no client knows; it belongs to the response all the same."""


@dataclass(frozen=True)
class SignedApproval:
    """One assertion."""

    at: float
    options: Mapping[str, Any]
    response: Mapping[str, Any]


class SuiteAuthenticator:
    """Signs for clients that are told to use it, over HTTP: `create` and `get`."""

    def __init__(self, origin: str) -> None:
        self._authenticator = Authenticator("security-key")
        self._origin = origin
        self.signed: list[SignedApproval] = []
        made = self._authenticator.create(creation_options(b"own"), origin)
        self.credential_id = str(made["id"])

    def __call__(self, what: str, given: Any) -> Any:
        """As an `HttpDoor` serves it."""
        request = as_object(given)
        origin = request.get("origin") or self._origin
        try:
            if what == "create":
                return self._authenticator.create(request.get("options") or {}, str(origin))
            if what == "get":
                return self._sign(request.get("options") or {}, str(origin))
        except WebAuthnError as error:
            raise ValueError(f"{type(error).__name__}: {error}") from None
        raise ValueError(f"got {what!r}, expected create or get")

    def _sign(self, options: Mapping[str, Any], origin: str) -> Mapping[str, Any]:
        at = now()
        response = dict(self._authenticator.get(options, origin))
        response["clientExtensionResults"] = {
            **as_object(response.get("clientExtensionResults")),
            **_EXTRA,
        }
        self.signed.append(SignedApproval(at, options, response))
        device = self._authenticator.profile.name
        note("authenticator", "signed", device=device, origin=origin, response=response)
        return response


def creation_options(challenge: bytes) -> dict[str, Any]:
    return {
        "rp": {"id": RP_ID, "name": "Scripted shop"},
        "user": {"id": words.base64url_encode(b"user-1"), "name": "a", "displayName": "A"},
        "challenge": words.base64url_encode(challenge.ljust(32, b"\0")),
        "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
        "timeout": 300_000,
        "attestation": "none",
        "excludeCredentials": [],
        "authenticatorSelection": {"residentKey": "preferred", "userVerification": "required"},
    }


class ScriptedApprovals:
    """Puts its tools and methods into a scripted server."""

    def __init__(self, server: ScriptedServer, authenticator: SuiteAuthenticator) -> None:
        self.server = server
        self.authenticator = authenticator
        self.display_text = DISPLAY_TEXT
        self.credentials = [authenticator.credential_id]
        self.issued: list[dict[str, Any]] = []
        """Every challenge, as it was sent."""
        self._numbers = itertools.count(1)
        self.annotation: dict[str, Any] = {
            "required": words.REQUIRED,
            "authenticatorClass": "cross-platform",
        }
        self.other_meta: dict[str, Any] = {}
        self.capability: dict[str, Any] | None = {}
        self.instead: dict[str, Answer] = {}
        """What a method is answered with, in place of the usual."""
        server.handlers |= {
            words.CHALLENGE_CREATE: self._challenge,
            words.ENROLL_BEGIN: self._begin,
            words.ENROLL_FINISH: self._finish,
            "tools/call": self._call,
        }
        self.lists()

    def lists(self) -> None:
        """Tell the server what is listed and declared; call it again after a change."""
        own = {words.META_KEY: self.annotation, **self.other_meta}
        self.server.tools = [
            {"name": GATED, "description": "Delete", "inputSchema": SCHEMA, "_meta": own},
            {
                "name": PLAIN,
                "description": "List",
                "inputSchema": {"type": "object"},
                "_meta": {"example.org/verified-approval": {"required": "verified"}},
            },
        ]
        capabilities: dict[str, Any] = {"tools": {}}
        if self.capability is not None:
            capabilities["extensions"] = {words.CAPABILITY_KEY: self.capability}
        self.server.capabilities = capabilities

    # ---- answers

    def _challenge(self, incoming: Incoming) -> Answer:
        if words.CHALLENGE_CREATE in self.instead:
            return self.instead[words.CHALLENGE_CREATE]
        tool, arguments = incoming.params.get("toolName"), incoming.params.get("arguments")
        if tool != GATED:
            return refusal(Reason.TOOL_NOT_APPROVED_REQUIRED)
        action = words.action_hash(GATED, arguments, _SERVER_ID)
        soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=5)
        envelope = {
            "challengeId": f"challenge-{next(self._numbers)}-{os.urandom(4).hex()}",
            "displayText": self.display_text,
            "expiresAt": soon.isoformat().replace("+00:00", "Z"),
            "requestOptions": {
                "challenge": words.base64url_encode(words.wire_challenge(os.urandom(32), action)),
                "rpId": RP_ID,
                "allowCredentials": [
                    {"type": "public-key", "id": one, "transports": ["usb"]}
                    for one in self.credentials
                ],
                "userVerification": "required",
                "timeout": 60_000,
            },
        }
        self.issued.append(envelope)
        return Result(envelope)

    def _begin(self, _: Incoming) -> Answer:
        return self.instead.get(words.ENROLL_BEGIN) or Result(
            {"options": creation_options(os.urandom(32))}
        )

    def _finish(self, incoming: Incoming) -> Answer:
        if words.ENROLL_FINISH in self.instead:
            return self.instead[words.ENROLL_FINISH]
        name = str(as_object(incoming.params.get("response")).get("id", ""))
        self.credentials.append(name)
        made = datetime.datetime.now(datetime.UTC).isoformat()
        return Result({"success": True, "credentialId": name, "createdAt": made})

    def _call(self, incoming: Incoming) -> Answer:
        if incoming.tool != GATED:
            return text_result("two files")
        if "tools/call" in self.instead:
            return self.instead["tools/call"]
        if not isinstance(incoming.meta.get(words.META_KEY), Mapping):
            return refusal(Reason.MISSING_EVIDENCE)
        return text_result("deleted")


def refusal(
    reason: Reason,
    message: str = MESSAGE,
    more: Mapping[str, Any] | None = None,
) -> ScriptedRefusal:
    """A refusal for this reason."""
    return ScriptedRefusal(words.ERROR_CODE, message, {"reason": str(reason), **(more or {})})

"""The part of the gate that issues challenges: sections 4.4.3, 4.6 and 4.7.

Knows tools, classes and what a person is shown. Does not know what becomes of a challenge: that is
in the gate.
"""

from __future__ import annotations

import datetime
import secrets
from typing import Any

from ...families.sep2672 import vocabulary as words
from ...families.sep2672.vocabulary import AuthenticatorClass, Reason
from ..server.answers import InvalidParamsError
from ..server.clock import iso_8601, whole_milliseconds
from ..server.visible_text import visible
from .enrolment import Enrolment
from .enrolment_policy import ENROLMENT, EnrolmentPolicy
from .records import ChallengeRecord, CredentialRecord, GatedTool
from .refusals import ApprovalRefusal

ROAMING_TRANSPORTS = frozenset(("hybrid", "usb", "nfc", "ble"))


class ChallengeIssue(Enrolment):
    """See the module; `ApprovalGate` is the whole."""

    tools: dict[str, GatedTool]
    server_id: str
    challenge_ttl: datetime.timedelta

    # ---- section 4.4.3: approval/challenge/create

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        gated = self.gated_tool(tool)
        try:
            canonical = words.canonical_arguments(arguments)
            action_hash = self.hash_of(tool, arguments, self.server_id)
        except words.NotCanonicalError as error:
            raise InvalidParamsError(str(error)) from error
        self.check_size(canonical)
        eligible = self.eligible_credentials(user, gated)
        now = self.clock.now()
        self.tidy(user, now)
        record = ChallengeRecord(
            challenge_id=secrets.token_urlsafe(24),
            user=user,
            tool=tool,
            canonical_arguments=canonical,
            server_id=self.server_id,
            action_hash=action_hash,
            wire_challenge=self.wire_challenge_of(self.make_nonce(), action_hash),
            expires_at=whole_milliseconds(now + self.challenge_ttl),
        )
        self.store.add_challenge(record)
        return self.envelope(record, self.display_text(gated, arguments), eligible)

    def check_size(self, canonical: bytes) -> None:
        if len(canonical) > self.limits.argument_bytes:
            raise InvalidParamsError(
                f"arguments: got {len(canonical)} bytes, expected {self.limits.argument_bytes} at "
                "most, so that a person can read them"
            )

    def gated_tool(self, name: str) -> GatedTool:
        if name == words.ENROLL_BEGIN and self.enrolment_policy is EnrolmentPolicy.FIRST_FREE:
            return ENROLMENT
        if name not in self.tools:
            raise ApprovalRefusal(
                Reason.TOOL_NOT_APPROVED_REQUIRED,
                f"tool: got {visible(name)[:80]!r}, expected one that requires approval",
            )
        return self.tools[name]

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        """Section 4.6, for challenge and call alike: the arguments as they were received."""
        return words.action_hash(tool, arguments, server_id)

    def make_nonce(self) -> bytes:
        return secrets.token_bytes(words.NONCE_BYTES)

    def wire_challenge_of(self, nonce: bytes, action_hash: bytes) -> bytes:
        return words.wire_challenge(nonce, action_hash)

    def eligible_credentials(self, user: str, tool: GatedTool) -> list[CredentialRecord]:
        """The user's credentials that pass the tool's class (section 4.7); at least one."""
        found = [
            credential
            for credential in self.store.credentials(user)
            if self.satisfies_class(credential, self.class_of(tool))
        ]
        if not found:
            raise ApprovalRefusal(
                Reason.NO_ELIGIBLE_CREDENTIAL,
                f"credentials: got none of class {self.class_of(tool)}, expected one",
            )
        return found

    def class_of(self, tool: GatedTool) -> AuthenticatorClass:
        return tool.annotation.authenticator_class

    def satisfies_class(self, credential: CredentialRecord, wanted: AuthenticatorClass) -> bool:
        if wanted is AuthenticatorClass.PLATFORM:
            return True
        return not ROAMING_TRANSPORTS.isdisjoint(credential.transports)

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        """The author's sentence, then the call itself, so that everything signed is shown."""
        try:
            sentence = tool.describe(arguments)
        except Exception:  # arguments that the author did not think of
            sentence = f"Run {tool.name}"
        if len(sentence) > self.limits.sentence_characters:
            sentence = f"{sentence[: self.limits.sentence_characters]} (and so on)"
        exactly = words.canonical_arguments(arguments).decode("utf-8")
        return visible(f"{sentence}. Exactly: {tool.name} {exactly}")

    def envelope(
        self, record: ChallengeRecord, display_text: str, eligible: list[CredentialRecord]
    ) -> dict[str, Any]:
        return {
            "challengeId": record.challenge_id,
            "displayText": display_text,
            "expiresAt": iso_8601(record.expires_at),
            "requestOptions": {
                "challenge": words.base64url_encode(record.wire_challenge),
                "rpId": self.relying_party.id,
                "allowCredentials": [self.descriptor(credential) for credential in eligible],
                "userVerification": "required",
                "timeout": int(self.challenge_ttl.total_seconds() * 1000),
            },
        }

"""The gate of SEP-2672: enrols passkeys, issues challenges, and lets a call through or refuses it.

A server author puts it in front of their own tools, with any transport:

    gate = ApprovalGate(
        store=ApprovalStore("sqlite:///approvals.db"),
        relying_party=RelyingParty("example.org", origins=["https://example.org"]),
    )

    @gate.guards("wipe", describe=lambda arguments: f"Wipe {arguments.get('disk')}")
    def wipe(arguments): ...

    gate.handle(user, method, params)     # answers the three approval/* methods
    wipe(user, arguments, meta)           # verifies params._meta of the call, then runs the tool

`user` is whoever the connection was authenticated as, `arguments` the value as it was parsed,
before any schema touched it, and `meta` the `_meta` of the request. A refusal is an
`ApprovalRefusal` (for bad params `InvalidParamsError`), whose `to_error()` is the error of the
answer. A call runs at most once for each challenge: it is used up before the tool begins
(docs/at-most-once.md).

Knows the rules and their order (`steps`, one method each). Does not know a transport, a database,
or WebAuthn's own checks (`relying_party`); it never runs a tool except through `guards`.
"""

from __future__ import annotations

import datetime
import hmac
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from ...families.sep2672 import vocabulary as words
from ...families.sep2672.vocabulary import AuthenticatorClass, Reason
from ..server.answers import InvalidParamsError
from ..server.clock import Clock, SystemClock, iso_8601
from .challenges import ROAMING_TRANSPORTS as ROAMING_TRANSPORTS  # noqa: PLC0414
from .challenges import ChallengeIssue
from .enrolment_policy import EnrolmentPolicy
from .limits import ApprovalLimits
from .records import (
    ApprovalAttempt,
    ApprovedCall,
    ChallengeRecord,
    CredentialRecord,
    Describe,
    GatedTool,
)
from .refusals import ApprovalRefusal
from .relying_party import RelyingParty, VerificationError, kind_of
from .store import ApprovalStore

Result = TypeVar("Result")
Guarded = Callable[[str, Any, Any], Result]


class ApprovalGate(ChallengeIssue):
    """See the module. `server_id` is the store's own, random and persistent, unless it is given."""

    steps: ClassVar[tuple[str, ...]] = (
        "step_01_evidence_present",
        "step_02_evidence_well_formed",
        "step_03_method",
        "step_04_challenge_known",
        "step_05_challenge_unconsumed",
        "step_06_challenge_unexpired",
        "step_07_challenge_tool",
        "step_08_credential_enrolled",
        "step_09_authenticator_class",
        "step_10_signature",
        "step_11_counter",
        "step_12_argument_hash",
        "step_13_consume",
        "step_14_update_counter",
    )
    """Section 4.8, in its order."""

    def __init__(
        self,
        *,
        tools: Iterable[GatedTool] = (),
        store: ApprovalStore,
        clock: Clock | None = None,
        relying_party: RelyingParty | None = None,
        server_id: str | None = None,
        challenge_ttl: float = 60,
        enrolment_ttl: float = 300,
        limits: ApprovalLimits | None = None,
        enrolment_policy: EnrolmentPolicy | str = EnrolmentPolicy.OPEN,
    ) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.store = store
        self.clock = clock or SystemClock()
        self.relying_party = relying_party or RelyingParty()
        self.server_id = server_id or store.server_id()
        self.challenge_ttl = datetime.timedelta(seconds=challenge_ttl)
        self.enrolment_ttl = datetime.timedelta(seconds=enrolment_ttl)
        self.limits = limits or ApprovalLimits()
        self.enrolment_policy = EnrolmentPolicy(enrolment_policy)
        self._issued = itertools.count()

    # ---- for a server author

    def guards(
        self,
        name: str,
        *,
        describe: Describe,
        authenticator_class: AuthenticatorClass | None = None,
    ) -> Callable[[Callable[[Any], Result]], Guarded[Result]]:
        """Decorate a tool of one argument; call it as (user, arguments, meta)."""
        self.tools[name] = GatedTool(name, describe, authenticator_class)

        def decorate(run: Callable[[Any], Result]) -> Guarded[Result]:
            def guarded(user: str, arguments: Any, meta: Any) -> Result:
                self.verify(user, name, arguments, meta)
                return run(arguments)

            return guarded

        return decorate

    def handle(self, user: str, method: str, params: Any) -> dict[str, Any]:
        """Answer one of the three approval methods (section 4.4)."""
        if method == words.ENROLL_BEGIN:
            if self.enrolment_policy is EnrolmentPolicy.OPEN:
                return self.begin_enrolment(user)  # params, if present, are ignored
            meta = params.get("_meta") if isinstance(params, Mapping) else None
            return self.begin_enrolment(user, meta)
        if not isinstance(params, Mapping):
            raise InvalidParamsError(f"params: got {kind_of(params)}, expected an object")
        if method == words.ENROLL_FINISH:
            return self.finish_enrolment(user, _member(params, "response", Mapping, "an object"))
        if method == words.CHALLENGE_CREATE:
            name = _member(params, "toolName", str, "text")
            arguments = _member(params, "arguments", Mapping, "an object")
            return self.create_challenge(user, name, arguments)
        raise ValueError(f"method: got {method!r}, expected one of {', '.join(words.METHODS)}")

    # ---- section 4.8: tools/call

    def verify(self, user: str, tool: str, arguments: Any, meta: Any) -> ApprovedCall:
        """Return only if this very call is approved; else `ApprovalRefusal`."""
        attempt = ApprovalAttempt(user, self.gated_tool(tool), arguments, meta)
        for step in self.steps:
            getattr(self, step)(attempt)
        return ApprovedCall(
            user=user,
            tool=tool,
            challenge_id=self.challenge_of(attempt).challenge_id,
            credential_id=self.credential_of(attempt).credential_id,
            counter=attempt.counter,
        )

    def step_01_evidence_present(self, attempt: ApprovalAttempt) -> None:
        # 1. There is evidence under the key of params._meta.
        meta = attempt.meta if isinstance(attempt.meta, Mapping) else {}
        attempt.evidence = meta.get(words.META_KEY)
        if attempt.evidence is None:
            raise ApprovalRefusal(
                Reason.MISSING_EVIDENCE, f"_meta: got nothing under {words.META_KEY}"
            )

    def step_02_evidence_well_formed(self, attempt: ApprovalAttempt) -> None:
        # 2. It is an object with method, challengeId and response.
        if not isinstance(attempt.evidence, Mapping):
            raise ApprovalRefusal(
                Reason.MISSING_EVIDENCE,
                f"evidence: got {kind_of(attempt.evidence)}, expected an object",
            )
        for name, kind in (("method", str), ("challengeId", str), ("response", Mapping)):
            if not isinstance(attempt.evidence.get(name), kind):
                raise ApprovalRefusal(
                    Reason.MISSING_EVIDENCE,
                    f"evidence.{name}: got {kind_of(attempt.evidence.get(name))}, "
                    f"expected {'text' if kind is str else 'an object'}",
                )

    def step_03_method(self, attempt: ApprovalAttempt) -> None:
        # 3. Its method is webauthn, to the letter.
        if attempt.evidence.get("method") != words.WEBAUTHN:
            raise ApprovalRefusal(
                Reason.UNSUPPORTED_METHOD,
                f"evidence.method: got another one, expected {words.WEBAUTHN!r}",
            )

    def step_04_challenge_known(self, attempt: ApprovalAttempt) -> None:
        # 4. Its challenge was issued here, to this user.
        self.challenge_of(attempt)

    def step_05_challenge_unconsumed(self, attempt: ApprovalAttempt) -> None:
        # 5. The challenge was not used before.
        if self.challenge_of(attempt).consumed_at is not None:
            raise ApprovalRefusal(
                Reason.CHALLENGE_CONSUMED, "challenge: got a used one, expected an unused one"
            )

    def step_06_challenge_unexpired(self, attempt: ApprovalAttempt) -> None:
        # 6. It has not expired: now < expiresAt, without grace.
        expires_at = self.challenge_of(attempt).expires_at
        if not self.clock.now() < expires_at:
            raise ApprovalRefusal(
                Reason.CHALLENGE_EXPIRED, f"challenge: got one that expired {iso_8601(expires_at)}"
            )

    def step_07_challenge_tool(self, attempt: ApprovalAttempt) -> None:
        # 7. It was issued for the tool that is called.
        issued_for = self.challenge_of(attempt).tool
        if issued_for != attempt.tool.name:
            raise ApprovalRefusal(
                Reason.CHALLENGE_WRONG_TOOL,
                f"challenge: got one for {issued_for}, expected one for {attempt.tool.name}",
            )

    def step_08_credential_enrolled(self, attempt: ApprovalAttempt) -> None:
        # 8. The credential that signed is enrolled, by this user.
        self.credential_of(attempt)

    def step_09_authenticator_class(self, attempt: ApprovalAttempt) -> None:
        # 9. Its transports, as they were at enrolment, pass the tool's class (section 4.7).
        wanted = self.class_of(attempt.tool)
        if not self.satisfies_class(self.credential_of(attempt), wanted):
            raise ApprovalRefusal(
                Reason.AUTHENTICATOR_CLASS_MISMATCH,
                f"credential: got one of another class, expected {wanted}",
            )

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        # 10. The assertion verifies with the stored key, over the very challenge that was issued.
        credential = self.credential_of(attempt)
        try:
            attempt.counter = self.relying_party.verify_assertion(
                attempt.evidence.get("response"),
                self.challenge_of(attempt).wire_challenge,
                credential,
            )
        except VerificationError as error:
            raise ApprovalRefusal(Reason.SIGNATURE_VERIFICATION_FAILED, str(error)) from error

    def step_11_counter(self, attempt: ApprovalAttempt) -> None:
        # 11. The counter is higher than the stored one, unless the stored one is zero.
        stored = self.credential_of(attempt).counter
        if stored > 0 and not attempt.counter > stored:
            raise ApprovalRefusal(
                Reason.SIGNATURE_COUNTER_REGRESSION,
                f"signCount: got {attempt.counter}, expected more than the one before",
            )

    def step_12_argument_hash(self, attempt: ApprovalAttempt) -> None:
        # 12. The hash of this call is the one that was signed.
        try:
            action_hash = self.hash_of(attempt.tool.name, attempt.arguments, self.server_id)
        except words.NotCanonicalError:
            action_hash = b""
        if not hmac.compare_digest(action_hash, self.challenge_of(attempt).action_hash):
            raise ApprovalRefusal(
                Reason.ARGUMENT_HASH_MISMATCH,
                "arguments: got others than those that were approved",
            )

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        # 13. The challenge is consumed; of several at once, the store lets one through.
        challenge_id = self.challenge_of(attempt).challenge_id
        if not self.store.consume_challenge(challenge_id, self.clock.now()):
            raise ApprovalRefusal(
                Reason.CHALLENGE_CONSUMED, "challenge: got a used one, expected an unused one"
            )

    def step_14_update_counter(self, attempt: ApprovalAttempt) -> None:
        # 14. The counter is stored. Another call may have raised it since step 11: then this one
        # has regressed after all, and nothing runs.
        credential_id = self.credential_of(attempt).credential_id
        if not self.store.advance_counter(credential_id, attempt.counter):
            raise ApprovalRefusal(
                Reason.SIGNATURE_COUNTER_REGRESSION,
                f"signCount: got {attempt.counter}, expected more than the one before",
            )

    # What steps 4 and 8 look up and later steps use: found once in a call, or refused.

    def challenge_of(self, attempt: ApprovalAttempt) -> ChallengeRecord:
        if attempt.challenge is None:
            claimed = str(attempt.evidence.get("challengeId"))
            # Do not ask a database for text that it could not even store.
            issuable = claimed.isascii() and claimed.isprintable()
            record = self.store.challenge(claimed) if issuable else None
            if record is None or record.user != attempt.user:
                raise ApprovalRefusal(
                    Reason.CHALLENGE_UNKNOWN,
                    "challengeId: got one that was not issued to this user",
                )
            attempt.challenge = record
        return attempt.challenge

    def credential_of(self, attempt: ApprovalAttempt) -> CredentialRecord:
        if attempt.credential is None:
            response = attempt.evidence.get("response")
            try:
                claimed = words.base64url_decode(dict(response or {}).get("id"))
            except ValueError:
                claimed = b""
            record = self.store.credential(claimed)
            if record is None or record.user != attempt.user:
                raise ApprovalRefusal(
                    Reason.UNKNOWN_CREDENTIAL,
                    "response.id: got one that this user has not enrolled",
                )
            attempt.credential = record
        return attempt.credential


def _member(params: Mapping[str, Any], name: str, kind: type[Any], expected: str) -> Any:
    value = params.get(name)
    if not isinstance(value, kind):
        raise InvalidParamsError(f"{name}: got {kind_of(value)}, expected {expected}")
    return value

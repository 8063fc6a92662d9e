"""Who may enrol a passkey. SEP-2672 does not say; without a policy any caller of a user may.

Then an agent that speaks for a user can enrol a key of its own, made of software, and approve its
own calls: all rules of the document are kept, and no person was asked (docs/self-approval.md).

    open         whoever is authenticated as the user, at any time: the document alone
    first-free   the first key of a user is free; a further one needs an approval by one that the
                 user has, as if `approval/enroll/begin` were a gated tool without arguments
    arranged     each key needs a code that the person got out of band (`arrange_enrolment`)

With any of them `RelyingParty(models=...)` accepts attested models only. Knows no registration.
"""

from __future__ import annotations

import datetime
import hashlib
import secrets
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ...families.sep2672.vocabulary import ENROLL_BEGIN, AuthenticatorClass, Reason
from .records import EnrolmentRecord, GatedTool
from .refusals import ApprovalRefusal

if TYPE_CHECKING:
    from ..server.clock import Clock
    from .records import ApprovedCall
    from .store import ApprovalStore

CODE_KEY = "mcp-approval/enrolment-code"
"""In the `_meta` of `approval/enroll/begin`: what the person typed."""
CODE_SECONDS = 600.0


class EnrolmentPolicy(StrEnum):
    OPEN = "open"
    FIRST_FREE = "first-free"
    ARRANGED = "arranged"


ENROLMENT = GatedTool(
    ENROLL_BEGIN,
    lambda _: "Add a passkey that can approve calls in your name",
    AuthenticatorClass.PLATFORM,  # any of the user's own
)


class EnrolmentControl:
    """The part of a gate that decides who may enrol."""

    store: ApprovalStore
    clock: Clock
    enrolment_policy: EnrolmentPolicy

    def verify(self, user: str, tool: str, arguments: Any, meta: Any) -> ApprovedCall:
        raise NotImplementedError

    def arrange_enrolment(self, user: str, *, seconds: float = CODE_SECONDS) -> str:
        """A code with which this user may enrol one key. Hand it to the person by another way than
        through the client: on paper, by a call, on a page behind your own login."""
        code = secrets.token_urlsafe(12)
        until = self.clock.now() + datetime.timedelta(seconds=seconds)
        self.store.add_enrolment_code(_hashed(user, code), until)
        return code

    def may_begin(self, user: str, meta: Any) -> bool:
        """Refuse, or say whether this registration was allowed; if not, it may be a first key."""
        if self.enrolment_policy is EnrolmentPolicy.OPEN:
            return True
        if self.enrolment_policy is EnrolmentPolicy.ARRANGED:
            self.use_code(user, meta)
            return True
        if not self.store.credentials(user):
            return False
        self.verify(user, ENROLL_BEGIN, {}, meta)
        return True

    def use_code(self, user: str, meta: Any) -> None:
        code = meta.get(CODE_KEY) if isinstance(meta, Mapping) else None
        hashed = _hashed(user, code) if isinstance(code, str) else b""
        if not self.store.use_enrolment_code(hashed, self.clock.now()):
            raise ApprovalRefusal(
                Reason.NO_PENDING_ENROLLMENT,
                f"enrolment: got no good code under {CODE_KEY}, expected one that was arranged",
            )

    def check_allowed(self, user: str, pending: EnrolmentRecord) -> None:
        """Once more when it is finished: others may have enrolled since it began. Of several that
        would be the first key, one is."""
        if self.enrolment_policy is EnrolmentPolicy.OPEN or self.store.is_allowed(
            pending.challenge
        ):
            return
        if self.store.credentials(user) or not self.store.claim_first_key(user):
            raise ApprovalRefusal(
                Reason.NO_PENDING_ENROLLMENT,
                "enrolment: got a further key, expected a begin that the user's own approved",
            )


def _hashed(user: str, code: str) -> bytes:
    """A code is kept like a password: whoever reads the store cannot use it."""
    return hashlib.sha256(f"{len(user)}:{user}:{code}".encode("utf-8", "replace")).digest()

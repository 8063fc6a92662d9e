"""Calls that break chosen checks of section 4.8, alone or several at once.

`FAULTS` holds at least one fault for each of the checks 1 to 12: a function that changes the draft
of an honest call. `possible_pairs` computes which faults one call can have together;
`CallFault.excludes` says why others cannot. Knows no verdicts: a draft is submitted here, and its
outcome judged elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from virtual_authenticator.faults import Fault as DeviceFault
from virtual_authenticator.faults import SignatureBit, WrongCounter, WrongOrigin

from ...catalogue import NotVerified
from .driver import NOT_GIVEN, Challenge, ListedTool, Passkey
from .issuing import safe_arguments, schema_refused, variations
from .outcome import ApprovalOutcome
from .scenario import Ceremony
from .vocabulary import AuthenticatorClass, Reason


@dataclass
class Draft:
    """A call that is honest until faults have changed it."""

    ceremony: Ceremony
    called: ListedTool
    issued_for: ListedTool
    """The tool that the challenge is asked for; the one that is called, unless step 7 is broken."""
    signer: Passkey
    arguments: Any
    """What the call says; the challenge is always for the safe arguments."""
    evidence_left_out: bool = False
    used: bool = False
    expired: bool = False
    device_faults: list[DeviceFault] = field(default_factory=list)
    members: dict[str, Any] = field(default_factory=dict)
    """Members of the evidence that are replaced, or left out (`NOT_GIVEN`)."""
    unissued_id: bool = False
    challenge: Challenge | None = None
    """The challenge that `submit` used."""

    def submit(self) -> ApprovalOutcome:
        """Do what the draft says, up to and including the call."""
        call, evidence = self.prepare()
        return self.ceremony.call(call, evidence)

    def prepare(self) -> tuple[Challenge, Any]:
        """Everything before the call: returns the call, and the evidence that goes with it."""
        ceremony = self.ceremony
        challenge = self.challenge = ceremony.challenge(self.issued_for)
        if self.used:
            first = ceremony.call(challenge, ceremony.evidence(challenge))
            if not first.executed:
                raise NotVerified(f"the honest call failed, so nothing follows: {first.describe()}")
        members = dict(self.members)
        if self.unissued_id:
            members["challengeId"] = unissued(challenge.id)
        evidence = ceremony.evidence(
            challenge,
            self.signer,
            faults=self.device_faults,
            ignoring=["allow-credentials"],
            **members,
        )
        if self.expired:
            ceremony.clock.move_to(expiry_of(challenge))
        call = replace(challenge, tool=self.called.name, arguments=self.arguments)
        return call, NOT_GIVEN if self.evidence_left_out else evidence

    def refused_by_the_schema(self, outcome: ApprovalOutcome) -> bool:
        """Whether the server rejected the changed arguments themselves, before any approval."""
        changed = self.arguments != self.called.arguments
        return changed and schema_refused(self.ceremony, outcome, self.called.name, self.arguments)


@dataclass(frozen=True)
class CallFault:
    """One way to break one check of section 4.8."""

    step: int
    name: str
    """A few words for ids and reports: "the call is made with ..."."""
    reason: Reason
    apply: Callable[[Draft], None]
    excludes: Mapping[int | str, str] = field(default_factory=dict)
    """Later checks (or single faults, by name) that the same call cannot break too, and why."""

    @property
    def id(self) -> str:
        return f"{self.step:02}-{self.name.replace(' ', '-')}"


# ---- the faults, in the order of the checks


def _with(**values: Any) -> Callable[[Draft], None]:
    def change(draft: Draft) -> None:
        for name, value in values.items():
            setattr(draft, name, value)

    return change


def _with_member(name: str, value: Any = NOT_GIVEN) -> Callable[[Draft], None]:
    return lambda draft: draft.members.update({name: value})


def _with_device(fault: DeviceFault) -> Callable[[Draft], None]:
    return lambda draft: draft.device_faults.append(fault)


def _other_tool(draft: Draft) -> None:
    draft.issued_for = another_tool(draft.ceremony, draft.called)


def _stranger(draft: Draft) -> None:
    draft.signer = never_enrolled(draft.ceremony)


def _same_device_only(draft: Draft) -> None:
    # Any class will do for the challenge; the tool that is called decides.
    draft.called = draft.ceremony.tool_of_class(AuthenticatorClass.CROSS_PLATFORM)
    draft.issued_for, draft.arguments = draft.called, draft.called.arguments
    draft.signer = draft.ceremony.enrol("security-key", transports=["internal"])


def _other_arguments(draft: Draft) -> None:
    if draft.issued_for is draft.called:  # else the tool has already changed the hash
        draft.arguments = other_arguments(draft.called)


_NO_CHALLENGE = "no challenge is named, so there is none that could be wrong"
_NO_RECORD = "a challenge that was never issued has no state, no tool and no hash"
_NO_RESPONSE = "without a response there is no credential, no signature and no counter"
_NO_CREDENTIAL = "a credential that was never enrolled has no transports, key or counter on record"

FAULTS: tuple[CallFault, ...] = (
    CallFault(
        1,
        "no evidence",
        Reason.MISSING_EVIDENCE,
        _with(evidence_left_out=True),
        dict.fromkeys(range(2, 13), "without evidence there is nothing else to be wrong"),
    ),
    CallFault(
        2,
        "no method",
        Reason.MISSING_EVIDENCE,
        _with_member("method"),
        {3: "a method that is absent is not another one"},
    ),
    CallFault(
        2,
        "no challengeId",
        Reason.MISSING_EVIDENCE,
        _with_member("challengeId"),
        dict.fromkeys((4, 5, 6, 7, 12), _NO_CHALLENGE),
    ),
    CallFault(
        2,
        "no response",
        Reason.MISSING_EVIDENCE,
        _with_member("response"),
        dict.fromkeys((8, 9, 10, 11), _NO_RESPONSE),
    ),
    CallFault(3, "another method", Reason.UNSUPPORTED_METHOD, _with_member("method", "totp")),
    CallFault(
        4,
        "an unissued challengeId",
        Reason.CHALLENGE_UNKNOWN,
        _with(unissued_id=True),
        dict.fromkeys((5, 6, 7, 12), _NO_RECORD),
    ),
    CallFault(5, "a used challenge", Reason.CHALLENGE_CONSUMED, _with(used=True)),
    CallFault(6, "an expired challenge", Reason.CHALLENGE_EXPIRED, _with(expired=True)),
    CallFault(7, "another tool's challenge", Reason.CHALLENGE_WRONG_TOOL, _other_tool),
    CallFault(
        8,
        "a credential never enrolled",
        Reason.UNKNOWN_CREDENTIAL,
        _stranger,
        {9: _NO_CREDENTIAL, 11: _NO_CREDENTIAL, "a broken signature": _NO_CREDENTIAL},
    ),
    CallFault(
        9, "a same-device credential", Reason.AUTHENTICATOR_CLASS_MISMATCH, _same_device_only
    ),
    CallFault(
        10, "a broken signature", Reason.SIGNATURE_VERIFICATION_FAILED, _with_device(SignatureBit())
    ),
    # The signature is valid here, so that a server can notice before it has looked up any key.
    CallFault(
        10, "a foreign page", Reason.SIGNATURE_VERIFICATION_FAILED, _with_device(WrongOrigin())
    ),
    # An enrolled security key begins at 1, and has approved an honest call since.
    CallFault(
        11, "an old counter", Reason.SIGNATURE_COUNTER_REGRESSION, _with_device(WrongCounter(1))
    ),
    CallFault(12, "other arguments", Reason.ARGUMENT_HASH_MISMATCH, _other_arguments),
)


def why_not_together(first: CallFault, second: CallFault) -> str | None:
    """Why one call cannot break both checks; None if it can."""
    return first.excludes.get(second.step) or first.excludes.get(second.name)


def possible_pairs() -> list[tuple[CallFault, CallFault]]:
    """Every two faults of different checks that one call can have, the earlier check first."""
    return [
        (first, second)
        for first, second in itertools.combinations(FAULTS, 2)
        if first.step < second.step and why_not_together(first, second) is None
    ]


def draft(ceremony: Ceremony, *faults: CallFault, tool: ListedTool | None = None) -> Draft:
    """A call (of the usual tool) with these faults, everything else about it honest."""
    tool = tool or ceremony.tool
    made = Draft(ceremony, tool, tool, ceremony.passkey, tool.arguments)
    # Step 9 chooses the tool, so the faults that depend on the tool come after it.
    for fault in sorted(faults, key=lambda fault: (fault.step != 9, fault.step)):
        fault.apply(made)
    return made


# ---- what faults are made from


def expiry_of(challenge: Challenge) -> Any:
    """`expiresAt`, without which nothing about expiry can be judged."""
    try:
        return challenge.expires_at
    except ValueError as error:
        raise NotVerified(f"expiresAt cannot be read: {error}") from None


def unissued(challenge_id: str) -> str:
    """An id that looks like one of the server's but is not."""
    # Digits become other digits, hexadecimal letters other such letters: a UUID keeps its shape.
    turned = str.maketrans("0123456789abcdefABCDEF", "1234567890bcdefaBCDEFA")
    other = challenge_id.translate(turned)
    return other if other != challenge_id else f"{challenge_id}-"


def another_tool(ceremony: Ceremony, tool: ListedTool) -> ListedTool:
    """A gated tool that may be run and is not this one, of its class if there is one."""
    if tool.name == ceremony.tool.name:
        return ceremony.second_tool()
    return ceremony.tool


def never_enrolled(ceremony: Ceremony) -> Passkey:
    """A passkey that was made for this server and never sent to it."""
    device, page, response = ceremony.approval.register("security-key")
    return Passkey(device, page, response)


def other_arguments(tool: ListedTool) -> dict[str, Any]:
    """Arguments that differ in one value and still fit the tool's schema, if possible."""
    added = {**safe_arguments(tool), "added": "by somebody else"}
    return next((changed for _, changed in variations(tool)), added)

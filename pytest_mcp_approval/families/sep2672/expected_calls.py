"""Which checks of section 4.8 a call breaks, and what the server then owes.

The model's records of passkeys, challenges and evidence, and the expectation that follows from
them. If the document leaves something open, either answer is taken. Sends nothing.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from virtual_authenticator import Authenticator, PerCredential
from virtual_authenticator.faults import Fault as DeviceFault
from virtual_authenticator.faults import WrongOrigin, as_faults

from ...catalogue import Grade
from ...support.json_reading import JsonError, read_json
from ..base.message_changes import another_value, bytes_in
from ..base.outcome import errs
from ..base.paths import value_at
from . import vocabulary as words
from .driver import Challenge, ListedTool, Passkey
from .outcome import ApprovalOutcome
from .vocabulary import AuthenticatorClass, NotCanonicalError, Reason, canonical_arguments

PROFILES = ("security-key", "icloud-keychain", "windows-hello", "touch-id", "fast-counter")
FAULTS = ("signature-bit", "wrong-origin", "flip-flag", "wrong-challenge", "wrong-rp-id-hash")
OTHER_ORIGINS = ("another scheme", "an origin that begins alike", "an origin that ends alike")
_INVALID_PARAMS = -32602
_CLOSE = datetime.timedelta(seconds=2)
"""An instant so near is neither before nor after: the server's clock goes on while we ask."""
_PROBE = "mcpApprovalProbe"


@dataclass
class Counter:
    """The counter that the server keeps for a credential; copies of a device share it."""

    stored: int


@dataclass
class Device:
    """A passkey, or a copy of one."""

    passkey: Passkey
    user: int
    first: int
    enrolled: bool = True
    certain: bool = True
    """Whether the server must still know it: it may have been restarted without keeping it."""
    counter: Counter = field(init=False)
    backup: Authenticator = field(init=False)
    """The device as it was when it was enrolled."""

    def __post_init__(self) -> None:
        self.counter = Counter(self.first)
        self.backup = self.passkey.authenticator.clone()

    def copy(self) -> Device:
        other = replace(self, passkey=self._passkey_of(self.passkey.authenticator.clone()))
        other.counter = self.counter
        other.backup = self.backup
        return other

    def roll_back(self) -> None:
        """A backup is put back: the device counts again what it has counted before."""
        self.passkey = self._passkey_of(self.backup.clone())

    def _passkey_of(self, authenticator: Authenticator) -> Passkey:
        return Passkey(authenticator, self.passkey.origin, self.passkey.registration)

    @property
    def transports(self) -> list[str]:
        listed = value_at(self.passkey.registration, "response.transports")
        return listed if isinstance(listed, list) else []

    @property
    def internal_only(self) -> bool:
        return self.transports == ["internal"]

    def fits(self, tool: ListedTool) -> bool:
        assert tool.annotation is not None
        platform = tool.annotation.authenticator_class is AuthenticatorClass.PLATFORM
        return platform or not self.internal_only

    def eligible(self, tool: ListedTool, user: int) -> bool:
        return self.enrolled and self.user == user and self.fits(tool)


@dataclass
class Issued:
    """A challenge."""

    challenge: Challenge
    tool: ListedTool
    user: int
    consumed: bool = False
    certain: bool = True
    nonce: bytes = b""


@dataclass
class Signed:
    """Evidence."""

    issued: Issued
    device: Device
    evidence: Mapping[str, Any]
    fault: str
    counter: int

    def used(self) -> None:
        """It has run something."""
        self.issued.consumed = True
        self.device.counter.stored = self.counter


@dataclass
class Attempt:
    """A call with some evidence."""

    signed: Signed
    tool: ListedTool | None = None
    arguments: Any = None
    elsewhere: bool = False
    user: int | None = None
    at_replica: bool = False

    @property
    def caller(self) -> int:
        return self.signed.issued.user if self.user is None else self.user

    @property
    def challenge(self) -> Challenge:
        issued = self.signed.issued.challenge
        arguments = issued.arguments if self.arguments is None else self.arguments
        name = issued.tool if self.tool is None else self.tool.name
        return replace(issued, tool=name, arguments=arguments)


@dataclass(frozen=True)
class Fault:
    """A check of section 4.8 that a call breaks."""

    reason: Reason
    rule: str
    words: str


@dataclass(frozen=True)
class Problem:
    """What came is not what the server owes."""

    rule: str
    cause: str
    expected: str
    grade: Grade = Grade.BROKEN
    warning: bool = False


_USED_UP = Problem(
    "4.8-13-consume-after-verify",
    "a challenge is used up by what was refused",
    "the challenge serves until it has run something",
)


@dataclass(frozen=True)
class Expectation:
    """What a server owes for one call."""

    faults: tuple[Fault, ...]
    open_reasons: frozenset[Reason]
    """Reasons for which the call may be refused although nothing is wrong with it."""
    schema_may_refuse: bool
    counter: int

    @property
    def must_refuse(self) -> bool:
        return bool(self.faults)

    @property
    def rules(self) -> tuple[str, ...]:
        broken = tuple(one.rule for one in self.faults)
        return (*broken, "4.10-code", "4.8-order") if broken else ("4.8-13-consume-after-verify",)

    @property
    def words(self) -> str:
        return ", ".join(one.words for one in self.faults) or "an honest approval"

    def problem(self, outcome: ApprovalOutcome) -> Problem | None:
        """What is wrong with this outcome; None if nothing is."""
        if self.faults:
            return self._unrefused(outcome)
        if outcome.served_once:
            return None
        reason = outcome.reason
        if not outcome.executed and reason in set(self.open_reasons):
            return None
        if outcome.executed and outcome.runs not in (None, 0, 1):
            return Problem("8.2.3-exactly-once", "one call runs twice", "the tool runs once")
        if reason == Reason.CHALLENGE_CONSUMED:
            return _USED_UP
        rule = WRONGLY_REFUSED.get(Reason(reason)) if reason in set(Reason) else None
        rule = rule or "4.8-13-consume-after-verify"
        if reason == Reason.SIGNATURE_COUNTER_REGRESSION and not self.counter:
            rule = "8.3.2-counter-zero"
        return Problem(rule, "an honest call is refused", "a result, tool run once")

    def _unrefused(self, outcome: ApprovalOutcome) -> Problem | None:
        first = self.faults[0]
        wanted = f"{words.ERROR_CODE} {first.reason}, tool not run"
        if outcome.executed or outcome.succeeded:
            rule = first.rule
            return Problem(rule, f"{first.words}, and it runs", wanted, Grade.RAN)
        allowed = {one.reason for one in self.faults} | self.open_reasons
        error = outcome.reply.error
        by_schema = (error is not None and error.code == _INVALID_PARAMS) or errs(outcome.reply)
        if outcome.reason == first.reason:
            wrong_code = error is not None and error.code != words.ERROR_CODE
            return (
                Problem("4.10-code", "a reason under another code", wanted) if wrong_code else None
            )
        if self.schema_may_refuse and by_schema:
            return None
        if outcome.reason in self.open_reasons:
            return None
        if outcome.reason == Reason.CHALLENGE_CONSUMED and outcome.reason not in allowed:
            return _USED_UP
        if outcome.reason in allowed:
            return Problem("4.8-order", f"{first.words}: a later check answers", wanted)
        return Problem(first.rule, f"{first.words}: refused in other words", wanted)


WRONGLY_REFUSED = {
    Reason.MISSING_EVIDENCE: "4.8-02-evidence-well-formed",
    Reason.UNSUPPORTED_METHOD: "4.8-03-method",
    Reason.CHALLENGE_UNKNOWN: "4.8-04-challenge-known",
    Reason.CHALLENGE_CONSUMED: "4.8-13-consume-after-verify",
    Reason.CHALLENGE_EXPIRED: "4.8-06-challenge-unexpired",
    Reason.CHALLENGE_WRONG_TOOL: "4.8-07-challenge-tool",
    Reason.UNKNOWN_CREDENTIAL: "4.4.2-persisted",
    Reason.AUTHENTICATOR_CLASS_MISMATCH: "4.8-09-class",
    Reason.SIGNATURE_VERIFICATION_FAILED: "4.8-10-signature",
    Reason.SIGNATURE_COUNTER_REGRESSION: "4.8-14-counter-updated",
    Reason.ARGUMENT_HASH_MISMATCH: "4.8-12-argument-hash",
}


def expected(attempt: Attempt, now: datetime.datetime, *, restarted: bool) -> Expectation:
    """The checks that this call breaks, in the order of section 4.8, and what is left open."""
    signed = attempt.signed
    issued, device = signed.issued, signed.device
    tool = attempt.tool or issued.tool
    faults: list[Fault] = []
    left_open: set[Reason] = set()

    def breaks(reason: Reason, rule: str, told: str) -> None:
        faults.append(Fault(reason, rule, told))

    expires = issued.challenge.expires_at
    over = now >= expires
    if issued.consumed:
        breaks(Reason.CHALLENGE_CONSUMED, "4.8-05-challenge-unconsumed", "the challenge is used")
    if over and abs(now - expires) > _CLOSE:
        breaks(Reason.CHALLENGE_EXPIRED, "4.8-06-challenge-unexpired", "the challenge is over")
    elif abs(now - expires) <= _CLOSE:
        left_open.add(Reason.CHALLENGE_EXPIRED)
    if attempt.at_replica:
        # Replicas need not know each other's challenges and passkeys; they know what was used.
        left_open.update((Reason.CHALLENGE_UNKNOWN, Reason.UNKNOWN_CREDENTIAL))
    if over or restarted or not issued.certain:
        # A server may forget what is over; without a lasting store it forgets at a restart.
        left_open.add(Reason.CHALLENGE_UNKNOWN)
    if tool.name != issued.tool.name:
        breaks(Reason.CHALLENGE_WRONG_TOOL, "4.8-07-challenge-tool", "the challenge is another's")
    if not device.certain:
        left_open.add(Reason.UNKNOWN_CREDENTIAL)
    if not device.enrolled or device.user != attempt.caller:
        breaks(Reason.UNKNOWN_CREDENTIAL, "4.8-08-credential-enrolled", "a passkey not enrolled")
    elif issued.user != attempt.caller:
        left_open.update(Reason)
    if not device.fits(tool):
        breaks(Reason.AUTHENTICATOR_CLASS_MISMATCH, "4.8-09-class", "a passkey of another class")
    if signed.fault:
        breaks(
            Reason.SIGNATURE_VERIFICATION_FAILED,
            "4.8-10-signature",
            f"an assertion with the fault {signed.fault}",
        )
    stored = device.counter.stored
    if (signed.counter or stored) and signed.counter <= stored:
        breaks(
            Reason.SIGNATURE_COUNTER_REGRESSION,
            "4.8-11-counter",
            "a counter that does not increase",
        )
    changed = attempt.arguments is not None and not same_arguments(
        attempt.arguments, issued.challenge.arguments
    )
    if changed or tool.name != issued.tool.name:
        breaks(Reason.ARGUMENT_HASH_MISMATCH, "4.8-12-argument-hash", "other arguments")
    if device.user != attempt.caller or issued.user != attempt.caller:
        left_open.update(Reason)
    return Expectation(tuple(faults), frozenset(left_open), changed, signed.counter)


def device_of(profile: str) -> Authenticator:
    """A device of this shape; "fast-counter" takes few steps to counters of many digits."""
    if profile == "fast-counter":
        return Authenticator("security-key", counter=PerCredential(start=98, step=33_000))
    return Authenticator(profile)


def fault_of(name: str, origin: str) -> DeviceFault:
    """The fault of that name; of those about origins, for the one that people use."""
    scheme, _, host = origin.partition("://")
    others = {
        OTHER_ORIGINS[0]: f"{'https' if scheme == 'http' else 'http'}://{host}",
        OTHER_ORIGINS[1]: f"{origin}.attacker.example",
        OTHER_ORIGINS[2]: f"{scheme}://attacker{host}",
    }
    return WrongOrigin(others[name]) if name in others else as_faults(name)[0]


def fits_profile(profile: str, tool: ListedTool) -> bool:
    """Whether a passkey of this shape may approve the tool."""
    assert tool.annotation is not None
    platform = tool.annotation.authenticator_class is AuthenticatorClass.PLATFORM
    return platform or device_of(profile).profile.sorted_transports != ["internal"]


# ---- calls that differ


def counter_of(response: Mapping[str, Any]) -> int:
    """The signature counter in a response of either kind."""
    data = bytes_in(value_at(response, "response.authenticatorData")) or b""
    return int.from_bytes(data[33:37], "big")


def client_data_in(params: Any) -> Mapping[str, Any] | None:
    """The client data of a registration in the params of enroll/finish, if it can be read."""
    data = bytes_in(value_at(params, "response.response.clientDataJSON")) or b""
    try:
        found = read_json(data)
    except JsonError:
        return None
    return found if isinstance(found, Mapping) else None


def changed_arguments(tool: ListedTool, number: int) -> tuple[str, dict[str, Any]]:
    """The tool's safe arguments with one change, which nobody has approved."""
    safe = dict(tool.arguments or {})
    ways: list[tuple[str, dict[str, Any]]] = []
    for name, value in safe.items():
        ways.append((f"another {name}", {**safe, name: another_value(value)}))
    ways.append(("a member more", {**safe, _PROBE: 1}))
    for name in safe:
        ways.append((f"no {name}", {key: one for key, one in safe.items() if key != name}))
    for name, value in safe.items():
        ways.append((f"{name} in a list", {**safe, name: [value]}))
    return ways[number % len(ways)]


def same_arguments(one: Any, other: Any) -> bool:
    """Whether RFC 8785 writes both alike; where it cannot, they differ."""
    try:
        return canonical_arguments(_plain(one)) == canonical_arguments(_plain(other))
    except NotCanonicalError:
        return False


def _plain(arguments: Any) -> Any:
    """Readings: none at all may count as an empty object, and `__proto__` may be dropped."""
    if arguments is None or arguments == []:
        return {}
    if isinstance(arguments, Mapping):
        return {name: one for name, one in arguments.items() if name != "__proto__"}
    return arguments


def same_call(honest: Mapping[str, Any], changed: Any) -> bool:
    """Whether a server may take the changed call for the honest one: nothing that was signed, and
    nothing that says who signed it, is different."""
    if not isinstance(changed, Mapping) or changed.get("name") != honest["name"]:
        return False
    if not same_arguments(changed.get("arguments"), honest["arguments"]):
        return False
    own = honest["_meta"][words.META_KEY]
    meta = changed.get("_meta")
    theirs = meta.get(words.META_KEY) if isinstance(meta, Mapping) else None
    return isinstance(theirs, Mapping) and _binding(own) == _binding(theirs)


def _binding(evidence: Mapping[str, Any]) -> tuple[Any, ...]:
    inside = ("clientDataJSON", "authenticatorData", "signature")
    response = value_at(evidence, "response.response")
    parts = response if isinstance(response, Mapping) else {}
    identity = value_at(evidence, "response.id")
    return (
        evidence.get("method"),
        # The same number in either case, where it is a UUID (reading).
        json.dumps(evidence.get("challengeId")).lower(),
        bytes_in(identity) if isinstance(identity, str) else None,
        *(bytes_in(parts.get(name)) for name in inside),
    )

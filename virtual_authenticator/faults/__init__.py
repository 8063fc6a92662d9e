"""What an authenticator, a client or an attacker can get wrong, one class for each fault.

A fault changes one thing and leaves the rest intact: changes before the signature are signed, so
that only the check that it names should fail. Faults compose: give several to one ceremony. Each
can be written as data (`to_json`) and read back (`fault`). A fault that finds nothing to change is
an error of the test; it is never silently ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from .attestation import BrokenX5c, DuplicateKeyCbor, ExpiredX5c, ForeignX5c, NonCanonicalCbor
from .base import Fault, FaultError, FaultRun
from .client import (
    CrossOrigin,
    Replayed,
    TopOrigin,
    UnusualClientData,
    WrongChallenge,
    WrongCredentialId,
    WrongOrigin,
    WrongType,
    WrongUserHandle,
)
from .device import (
    AttestedDataExtra,
    AttestedDataMissing,
    FlipFlag,
    OffCurveKey,
    OtherAlgorithm,
    OtherKey,
    OversizedKey,
    ReservedBit,
    SignatureBit,
    Trailing,
    Truncated,
    WrongCounter,
    WrongRpIdHash,
)

FAULTS: dict[str, type[Fault]] = {
    kind.name: kind
    for kind in (
        WrongChallenge,
        WrongOrigin,
        WrongType,
        CrossOrigin,
        TopOrigin,
        UnusualClientData,
        OtherAlgorithm,
        OffCurveKey,
        OversizedKey,
        WrongRpIdHash,
        FlipFlag,
        ReservedBit,
        WrongCounter,
        AttestedDataMissing,
        AttestedDataExtra,
        Truncated,
        Trailing,
        BrokenX5c,
        ExpiredX5c,
        ForeignX5c,
        OtherKey,
        SignatureBit,
        NonCanonicalCbor,
        DuplicateKeyCbor,
        WrongCredentialId,
        WrongUserHandle,
        Replayed,
    )
}


def fault(description: str | Mapping[str, Any]) -> Fault:
    """A fault from its name, or from what `to_json` wrote."""
    members: dict[str, Any] = (
        {"fault": description} if isinstance(description, str) else dict(description)
    )
    name = members.pop("fault", None)
    if name not in FAULTS:
        raise ValueError(f"fault: got {name!r}, expected one of {', '.join(FAULTS)}")
    known = {member.name for member in fields(FAULTS[name])}
    for member, value in members.items():
        if member not in known:
            raise ValueError(
                f"fault {name}: got {member!r}, expected {', '.join(known) or 'nothing'}"
            )
        if isinstance(value, Mapping):
            members[member] = bytes.fromhex(value["hex"])
    return FAULTS[name](**members)


def as_faults(given: Fault | str | Iterable[Fault | str]) -> tuple[Fault, ...]:
    """One fault or several, as objects or by name."""
    if isinstance(given, (Fault, str)):
        given = (given,)
    return tuple(one if isinstance(one, Fault) else fault(one) for one in given)


__all__ = [
    "FAULTS",
    "AttestedDataExtra",
    "AttestedDataMissing",
    "BrokenX5c",
    "CrossOrigin",
    "DuplicateKeyCbor",
    "ExpiredX5c",
    "Fault",
    "FaultError",
    "FaultRun",
    "FlipFlag",
    "ForeignX5c",
    "NonCanonicalCbor",
    "OffCurveKey",
    "OtherAlgorithm",
    "OtherKey",
    "OversizedKey",
    "Replayed",
    "ReservedBit",
    "SignatureBit",
    "TopOrigin",
    "Trailing",
    "Truncated",
    "UnusualClientData",
    "WrongChallenge",
    "WrongCounter",
    "WrongCredentialId",
    "WrongOrigin",
    "WrongRpIdHash",
    "WrongType",
    "WrongUserHandle",
    "as_faults",
    "fault",
]

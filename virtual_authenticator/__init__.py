"""A software WebAuthn and CTAP2 authenticator for tests, of any shape and with any fault.

The main class is `Authenticator`; the other names here configure one.
"""

from typing import TYPE_CHECKING, Any

from .authenticator import Authenticator
from .client_rules import Rule
from .clock import Clock, ManualClock, SystemClock
from .credentials import Credential
from .errors import (
    AbortError,
    InvalidOptionsError,
    InvalidStateError,
    NotAllowedError,
    NotSupportedError,
    SecurityError,
    WebAuthnError,
)
from .person import Gesture, Person
from .profile import Profile, profile, profiles
from .vault import SyncedAuthenticator, Vault

if TYPE_CHECKING:
    from .certificates import AttestationAuthority, AttestationIdentity
    from .counters import (
        AlwaysZero,
        Constant,
        CounterPolicy,
        Global,
        Overflow,
        PerCredential,
        RandomStep,
        Rollback,
        Scripted,
    )
    from .faults import Fault, FaultError, fault
    from .hardware import AndroidKeystore, SafetyNet, TpmChip

_LATE = {
    "AlwaysZero": "counters",
    "Constant": "counters",
    "CounterPolicy": "counters",
    "Global": "counters",
    "Overflow": "counters",
    "PerCredential": "counters",
    "RandomStep": "counters",
    "Rollback": "counters",
    "Scripted": "counters",
    "AttestationAuthority": "certificates",
    "AttestationIdentity": "certificates",
    "AndroidKeystore": "hardware",
    "SafetyNet": "hardware",
    "TpmChip": "hardware",
    "Fault": "faults",
    "FaultError": "faults",
    "fault": "faults",
}
"""Names whose modules are loaded on first use: most programs never need them."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        from importlib import import_module

        return getattr(import_module(f".{_LATE[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "AbortError",
    "AlwaysZero",
    "AndroidKeystore",
    "AttestationAuthority",
    "AttestationIdentity",
    "Authenticator",
    "Clock",
    "Constant",
    "CounterPolicy",
    "Credential",
    "Fault",
    "FaultError",
    "Gesture",
    "Global",
    "InvalidOptionsError",
    "InvalidStateError",
    "ManualClock",
    "NotAllowedError",
    "NotSupportedError",
    "Overflow",
    "PerCredential",
    "Person",
    "Profile",
    "RandomStep",
    "Rollback",
    "Rule",
    "SafetyNet",
    "Scripted",
    "SecurityError",
    "SyncedAuthenticator",
    "SystemClock",
    "TpmChip",
    "Vault",
    "WebAuthnError",
    "fault",
    "profile",
    "profiles",
]

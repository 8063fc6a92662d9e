"""A software WebAuthn and CTAP2 authenticator for tests, of any shape and with any fault.

The whole of it is `Authenticator`; the other names here are what one is shaped with.
"""

from .authenticator import Authenticator
from .certificates import AttestationAuthority, AttestationIdentity
from .client_rules import Rule
from .clock import Clock, ManualClock, SystemClock
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
from .credentials import Credential
from .errors import (
    InvalidOptionsError,
    InvalidStateError,
    NotAllowedError,
    NotSupportedError,
    SecurityError,
    WebAuthnError,
)
from .faults import Fault, FaultError, fault
from .person import Gesture, Person
from .profile import Profile, profile, profiles
from .vault import SyncedAuthenticator, Vault

__all__ = [
    "AlwaysZero",
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
    "Scripted",
    "SecurityError",
    "SyncedAuthenticator",
    "SystemClock",
    "Vault",
    "WebAuthnError",
    "fault",
    "profile",
    "profiles",
]

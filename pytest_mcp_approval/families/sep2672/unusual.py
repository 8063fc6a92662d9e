"""What few clients and authenticators write, as WebAuthn lets them: a fault in no ceremony."""

from __future__ import annotations

from virtual_authenticator.faults import Fault, ReservedBit, UnusualClientData

UNUSUAL: dict[str, Fault] = {
    "a member more in the client data": UnusualClientData(),
    "client data without crossOrigin": UnusualClientData(more=False),
    "a flag set that is reserved": ReservedBit(),
}

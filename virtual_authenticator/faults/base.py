"""What a fault is, and how the faults of one ceremony are run. Knows no fault by name.

The hooks are in the order in which a ceremony reaches them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ..algorithms import Algorithm, PrivateKey, Signer
    from ..authenticator_data import AuthenticatorDataDraft
    from ..certificates import AttestationIdentity
    from ..client_data import ClientDataDraft
    from ..credentials import Credential
    from ..entropy import Entropy

BOTH = ("create", "get")
CREATE = ("create",)
GET = ("get",)


class FaultError(ValueError):
    """A fault was asked for where it is impossible: the message says what it needs."""


@dataclass(frozen=True)
class Fault:
    """Base of all faults."""

    name: ClassVar[str]
    check: ClassVar[str]
    """The check of a relying party that should fail."""
    section: ClassVar[str]
    """Where WebAuthn Level 3 asks for that check."""
    ceremonies: ClassVar[tuple[str, ...]] = BOTH

    def client_data(self, draft: ClientDataDraft, run: FaultRun) -> None:
        """Change the client data before it is hashed."""

    def algorithm(self, chosen: Algorithm, run: FaultRun) -> Algorithm:  # noqa: ARG002
        """Choose another algorithm for the new credential."""
        return chosen

    def authenticator_data(self, draft: AuthenticatorDataDraft, run: FaultRun) -> None:
        """Change the authenticator data before it is bytes."""

    def authenticator_bytes(self, data: bytes, run: FaultRun) -> bytes:  # noqa: ARG002
        """Change the bytes that are signed."""
        return data

    def identity(self, identity: AttestationIdentity, run: FaultRun) -> AttestationIdentity:  # noqa: ARG002
        """Change the attestation key or its certificates."""
        return identity

    def signer(self, key: PrivateKey, signer: Signer, run: FaultRun) -> Signer:  # noqa: ARG002
        """Sign in another way."""
        return signer

    def signature(self, signature: bytes, run: FaultRun) -> bytes:  # noqa: ARG002
        """Change the signature."""
        return signature

    def attestation_pairs(self, pairs: list[tuple[bytes, bytes]], run: FaultRun) -> None:
        """Change the encoded members of the attestation object."""

    def response(self, response: dict[str, Any], run: FaultRun) -> dict[str, Any]:  # noqa: ARG002
        """Change what the page sends to the relying party."""
        return response

    def to_json(self) -> dict[str, Any]:
        members = {
            name: {"hex": value.hex()} if isinstance(value, bytes) else value
            for name, value in asdict(self).items()
        }
        return {"fault": self.name, **members}


@dataclass(slots=True)
class FaultRun:
    """The faults of one ceremony: gives each stage those that act there, and notes which acted."""

    faults: tuple[Fault, ...]
    ceremony: str
    entropy: Entropy
    credential: Credential | None = None
    offered: tuple[int, ...] = ()
    algorithm: Algorithm | None = None
    """Of the key that signs now; set before `signer` is called."""
    previous: dict[str, Any] | None = None
    applied: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        for one in self.faults:
            if self.ceremony not in one.ceremonies:
                raise FaultError(f"{one.name}: got {self.ceremony}, expected {one.ceremonies[0]}")

    def at(self, stage: str) -> Iterator[Any]:
        for position, one in enumerate(self.faults):
            if getattr(type(one), stage) is not getattr(Fault, stage):
                self.applied.add(position)
                yield one

    def close(self) -> None:
        """Every fault must have changed something."""
        for position, one in enumerate(self.faults):
            if position not in self.applied:
                raise FaultError(
                    f"{one.name}: found nothing to change in this {self.ceremony}; {_needs(one)}"
                )


def _needs(one: Fault) -> str:
    if type(one).identity is not Fault.identity:
        return "it needs attestation 'direct' and a profile that attests with certificates"
    if type(one).client_data is not Fault.client_data or type(one).response is not Fault.response:
        return "it belongs to the client, not to CTAP"
    return "it needs an attestation that is signed"


def flip(data: bytes, bit: int) -> bytes:
    """Flip one bit, counted from the front."""
    changed = bytearray(data)
    changed[bit // 8] ^= 0x80 >> (bit % 8)
    return bytes(changed)

"""The CBOR map of a request, read carefully: a missing member or a wrong type gives the right
status.

Does not know what the parameters mean.
"""

from __future__ import annotations

from typing import Any, TypeVar

from .. import cbor
from .status import CtapFailure, Status

Kind = TypeVar("Kind", bytes, str, int, bool, dict[Any, Any], list[Any])


class Parameters:
    """One CBOR map; unused members are ignored, as CTAP 2.1 (section 8) wants."""

    def __init__(self, members: dict[Any, Any]) -> None:
        self.members = members

    @classmethod
    def decode(cls, data: bytes) -> Parameters:
        """The parameters of a command; a map in the canonical form or nothing."""
        if not data:
            raise CtapFailure(Status.MISSING_PARAMETER)
        try:
            members = cbor.decode(data)
        except cbor.CborError:
            raise CtapFailure(Status.INVALID_CBOR) from None
        return cls.of(members)

    @classmethod
    def of(cls, value: Any) -> Parameters:
        if not isinstance(value, dict):
            raise CtapFailure(Status.CBOR_UNEXPECTED_TYPE)
        return cls(value)

    def __contains__(self, key: object) -> bool:
        return key in self.members

    def get(self, key: int | str, kind: type[Kind]) -> Kind | None:
        """A member if it is there; a status if it has another type."""
        if key not in self.members:
            return None
        value = self.members[key]
        if type(value) is not kind:  # exactly: True is no number here
            raise CtapFailure(Status.CBOR_UNEXPECTED_TYPE)
        return value

    def require(self, key: int | str, kind: type[Kind]) -> Kind:
        """A member that must be there."""
        value = self.get(key, kind)
        if value is None:
            raise CtapFailure(Status.MISSING_PARAMETER)
        return value

    def map(self, key: int | str) -> Parameters | None:
        """A member that is a map itself."""
        members: dict[Any, Any] | None = self.get(key, dict)
        return None if members is None else Parameters(members)

    def require_map(self, key: int | str) -> Parameters:
        members = self.map(key)
        if members is None:
            raise CtapFailure(Status.MISSING_PARAMETER)
        return members

    def encoded(self, key: int | str) -> bytes:
        """A member as it was sent, and signed: the decoder accepts one encoding only. Nothing if it
        is not there."""
        return cbor.encode(self.members[key]) if key in self.members else b""

    def maps(self, key: int | str) -> list[Parameters]:
        """A member that is a list of maps; empty when it is not there."""
        members: list[Any] = self.get(key, list) or []
        return [Parameters.of(member) for member in members]

    def require_credential_id(self, key: int | str) -> bytes:
        """The id in a PublicKeyCredentialDescriptor."""
        descriptor = self.require_map(key)
        descriptor.require("type", str)
        return descriptor.require("id", bytes)

    def credential_ids(self, key: int | str, limit: int | None) -> list[bytes]:
        """The ids in a list of descriptors; those of an unknown type are skipped."""
        descriptors = self.maps(key)
        if limit is not None and len(descriptors) > limit:
            raise CtapFailure(Status.LIMIT_EXCEEDED)
        kinds = [
            (descriptor.require("type", str), descriptor.require("id", bytes))
            for descriptor in descriptors
        ]
        return [credential_id for kind, credential_id in kinds if kind == "public-key"]

"""Faults of the client: what it collects before the signature, and what the page sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..encoding import base64url_encode
from .base import GET, Fault, FaultError, FaultRun

if TYPE_CHECKING:
    from ..client_data import ClientDataDraft


@dataclass(frozen=True)
class WrongChallenge(Fault):
    """Signs over another challenge (`value`, base64url; else a random one)."""

    name = "wrong-challenge"
    check = "challenge"
    section = "7.1 and 7.2, challenge equals the one issued"
    value: str | None = None

    def client_data(self, draft: ClientDataDraft, run: FaultRun) -> None:
        draft.challenge = self.value or base64url_encode(run.entropy.bytes(32))


@dataclass(frozen=True)
class WrongOrigin(Fault):
    """Says that another page asked."""

    name = "wrong-origin"
    check = "origin"
    section = "7.1 and 7.2, origin is one that is expected (13.4.9)"
    origin: str = "https://attacker.example"

    def client_data(self, draft: ClientDataDraft, run: FaultRun) -> None:  # noqa: ARG002
        draft.origin = self.origin


@dataclass(frozen=True)
class WrongType(Fault):
    """Names the other ceremony, or any text."""

    name = "wrong-type"
    check = "type"
    section = "7.1 and 7.2, type is webauthn.create or webauthn.get"
    value: str | None = None

    def client_data(self, draft: ClientDataDraft, run: FaultRun) -> None:
        other = "webauthn.get" if run.ceremony == "create" else "webauthn.create"
        draft.type = other if self.value is None else self.value


@dataclass(frozen=True)
class CrossOrigin(Fault):
    """Says that the page was a frame of another origin."""

    name = "cross-origin"
    check = "crossOrigin"
    section = "7.1 and 7.2, crossOrigin only where framing is expected"

    def client_data(self, draft: ClientDataDraft, run: FaultRun) -> None:  # noqa: ARG002
        draft.cross_origin = True


@dataclass(frozen=True)
class TopOrigin(CrossOrigin):
    """Names the page at the top that framed it."""

    name = "top-origin"
    check = "topOrigin"
    section = "7.1 and 7.2, topOrigin is a page that may frame"
    origin: str = "https://attacker.example"

    def client_data(self, draft: ClientDataDraft, run: FaultRun) -> None:  # noqa: ARG002
        draft.cross_origin = True
        draft.top_origin = self.origin


@dataclass(frozen=True)
class UnusualClientData(Fault):
    """Writes what few clients write: a member more, or (`more=False`) nothing about frames."""

    name = "unusual-client-data"
    check = "none: members may be added, and crossOrigin may be missing"
    section = "5.8.1, crossOrigin is optional, and further members are to be tolerated"
    more: bool = True

    def client_data(self, draft: ClientDataDraft, run: FaultRun) -> None:  # noqa: ARG002
        if self.more:
            draft.extra["other_keys_can_be_added_here"] = "do not compare this with a template"
        else:
            draft.cross_origin = None


# ---- what the page sends


@dataclass(frozen=True)
class WrongCredentialId(Fault):
    """Names another credential than the one that signed (`value`, base64url; else a random one)."""

    name = "wrong-credential-id"
    check = "credential id"
    section = "7.1, id equals the attested one; 7.2, id is allowed and known"
    value: str | None = None

    def response(self, response: dict[str, Any], run: FaultRun) -> dict[str, Any]:
        other = self.value or base64url_encode(run.entropy.bytes(32))
        return {**response, "id": other, "rawId": other}


@dataclass(frozen=True)
class WrongUserHandle(Fault):
    """Names another user (`value`, base64url; else a random one)."""

    name = "wrong-user-handle"
    check = "userHandle"
    section = "7.2, userHandle belongs to the owner of the credential"
    ceremonies = GET
    value: str | None = None

    def response(self, response: dict[str, Any], run: FaultRun) -> dict[str, Any]:
        other = self.value or base64url_encode(run.entropy.bytes(16))
        return {**response, "response": {**response["response"], "userHandle": other}}


@dataclass(frozen=True)
class Replayed(Fault):
    """Sends the answer of the previous ceremony again."""

    name = "replayed"
    check = "challenge"
    section = "7.1 and 7.2, challenge equals the one issued for this ceremony (13.4.3)"

    def response(self, response: dict[str, Any], run: FaultRun) -> dict[str, Any]:  # noqa: ARG002
        if run.previous is None:
            raise FaultError(
                f"replayed: there was no {run.ceremony} before, expected one to replay"
            )
        return run.previous

"""Kind `cdp`: Chromium's own virtual authenticator, and Chromium's own WebAuthn code before it.

Real checks of a real browser, for what its authenticator can be: `losses` tells the rest. An
authenticator belongs to one page, so the credentials move along to the page that asks (a pop-up, a
second tab). Measured on Chromium 156: a request that began without presence is never finished when
presence comes later; so a prompt that is open is a native request that is begun anew when the
person acts, and one that nobody approves ends by its own time-out, made short.
"""

from __future__ import annotations

import base64
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from virtual_authenticator import cdp as translation
from virtual_authenticator.client_rules import effective_rp_id
from virtual_authenticator.encoding import base64url_decode, base64url_encode

from .keys import ATTEMPTS, Key
from .person import APPROVE, WAIT, WRONG_FINGER
from .prompts import DONE, Answer, Instruction, Prompt

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

    from virtual_authenticator import Credential, Profile

    from .prompt_broker import PromptBroker

_MEMBERS = {
    "sign_count": "signCount",
    "backup_eligible": "backupEligibility",
    "backup_state": "backupState",
}
"""What Chromium calls what can be changed."""
_AT_ONCE = 1
"""Milliseconds: the time-out of a request that nobody will approve."""


@dataclass(eq=False)
class _Seat:
    """The authenticator on one page."""

    page: Page
    session: CDPSession
    authenticator: str
    present: bool = True
    failed: bool = False
    """Whether it was shown a wrong finger."""
    known: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Credentials as Chromium told them last, by id: a page may be closed at any time."""

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        parameters["authenticatorId"] = self.authenticator
        answered: dict[str, Any] = self.session.send(f"WebAuthn.{method}", parameters)
        return answered

    def read(self) -> list[dict[str, Any]]:
        """All credentials, from Chromium itself where the page is still there."""
        if not self.page.is_closed():
            listed = self.send("getCredentials")["credentials"]
            self.known = {one["credentialId"]: one for one in listed}
        return list(self.known.values())


class CdpKey(Key):
    """Chromium's authenticator behind a page."""

    kind = "cdp"

    def __init__(self, profile: Profile, broker: PromptBroker) -> None:
        super().__init__(profile, broker)
        self._seat: _Seat | None = None
        self._kept: list[dict[str, Any]] = []
        """Credentials while the key is on no page."""
        self._bits: dict[str, bool] = {}
        self._rp_ids: dict[str, str] = {}
        """By credential: Chromium does not tell it of those made by U2F, and version 149 not of
        those that are not discoverable either."""

    @property
    def losses(self) -> list[str]:
        return translation.losses(self.profile)

    @property
    def credentials(self) -> list[Credential]:
        return [translation.credential_from_json(one) for one in self._read()]

    def override(
        self,
        *,
        bogus_signature: bool | None = None,
        bad_uv: bool | None = None,
        bad_up: bool | None = None,
    ) -> None:
        wanted = {"isBogusSignature": bogus_signature, "isBadUV": bad_uv, "isBadUP": bad_up}
        self._bits.update({name: value for name, value in wanted.items() if value is not None})
        if self._seat is not None and not self._seat.page.is_closed():
            self._seat.send("setResponseOverrideBits", **self._bits)

    def _change(self, credential_id: bytes, changes: dict[str, int]) -> None:
        name = base64.b64encode(credential_id).decode("ascii")
        found = next((one for one in self._read() if one["credentialId"] == name), None)
        if found is None:
            shown = base64url_encode(credential_id)
            raise KeyError(f"no credential {shown} on this authenticator")
        changed = {**found, **{_MEMBERS[key]: value for key, value in changes.items()}}
        seat = self._seat
        if seat is None or seat.page.is_closed():
            held = seat.known.values() if seat is not None else self._kept
            self._kept = [changed if one is found else one for one in held]
            self._seat = None
            return
        seat.send("removeCredential", credentialId=name)
        seat.send("addCredential", credential=changed)

    # ---- the broker's side

    def begin(self, prompt: Prompt) -> Answer:
        self._sit(prompt)
        *fingers, last = self.person.take()
        prompt.planned = [*fingers, last] if self.profile.verifies else [last]
        return self._next(prompt)

    def ended(self, prompt: Prompt) -> Instruction:
        made = prompt.response.get("id") if prompt.response else None
        if prompt.kind == "create" and isinstance(made, str):
            with suppress(ValueError):
                name = base64.b64encode(base64url_decode(made)).decode("ascii")
                self._rp_ids[name] = effective_rp_id(prompt.rp_id, prompt.origin)
        if self._seat is not None and self._seat.failed:
            # Chromium counts the failure and does not ask again; a person is asked again, by a
            # device that has them left: the same credentials on a fresh one.
            page = self._seat.page
            self._leave(page)
            self._take_seat(page)
            if prompt.error == "NotAllowedError" and prompt.wrong_fingers < ATTEMPTS:
                prompt.error = None
                return self._next(prompt)
        return DONE

    def held(self, prompt: Prompt) -> Answer:
        return prompt.hold()

    def perform(self, prompt: Prompt, gesture: str) -> Instruction | None:
        if gesture == WRONG_FINGER:
            if not self.profile.verifies:
                gesture = APPROVE  # any finger proves presence
            else:
                prompt.planned = [WRONG_FINGER, WAIT]
                return self._next(prompt)
        prompt.planned = [gesture]
        return self._next(prompt)

    def _next(self, prompt: Prompt) -> Instruction:
        gesture = prompt.planned.pop(0)
        if gesture == WRONG_FINGER:
            prompt.wrong_fingers += 1
            self._present(True)
            assert self._seat is not None
            self._seat.send("setUserVerified", isUserVerified=False)
            self._seat.failed = True
            return {"do": "native"}
        self._present(gesture == APPROVE)
        if gesture == APPROVE:
            return {"do": "native"}
        if gesture == WAIT:
            return {"do": "native", "hold": True}
        # Declined, ignored or pulled out: WebAuthn has one error for all, so that pages cannot
        # tell (section 14.5.1), and Chromium one way to get there.
        prompt.why = f"the person did {gesture!r}"
        return {"do": "native", "timeout": _AT_ONCE}

    def _present(self, present: bool) -> None:
        seat = self._seat
        assert seat is not None
        if seat.present != present:
            seat.send("setAutomaticPresenceSimulation", enabled=present)
            seat.present = present

    # ---- where the authenticator is

    def _read(self) -> list[dict[str, Any]]:
        listed = self._kept if self._seat is None else self._seat.read()
        for one in listed:
            one.setdefault("rpId", self._rp_ids.get(one["credentialId"], ""))
        return listed

    def _sit(self, prompt: Prompt) -> None:
        """Be the one authenticator on the page that asks."""
        assert prompt.frame is not None
        page = prompt.frame.page
        for other in self._broker.keys:
            if isinstance(other, CdpKey) and other is not self:
                other._leave(page)
        if self._seat is not None and self._seat.page == page:
            return
        if self._seat is not None:
            self._leave(self._seat.page)
        self._take_seat(page)

    def _take_seat(self, page: Page) -> None:
        session = page.context.new_cdp_session(page)
        session.send("WebAuthn.enable", {"enableUI": False})
        options = translation.cdp_options(self.profile)
        added = session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        seat = _Seat(page, session, added["authenticatorId"])
        for event in ("credentialAdded", "credentialAsserted", "credentialUpdated"):
            session.on(f"WebAuthn.{event}", lambda told: _note(seat, told))
        for one in self._kept:
            seat.known[one["credentialId"]] = one
            seat.send("addCredential", credential=one)
        if any(self._bits.values()):
            seat.send("setResponseOverrideBits", **self._bits)
        self._seat, self._kept = seat, []

    def _leave(self, page: Page) -> None:
        seat = self._seat
        if seat is None or seat.page != page:
            return
        self._kept, self._seat = self._read(), None
        if not page.is_closed():
            seat.send("removeVirtualAuthenticator")
            seat.session.detach()


def _note(seat: _Seat, told: dict[str, Any]) -> None:
    credential = told["credential"]
    if told.get("authenticatorId") == seat.authenticator:
        seat.known[credential["credentialId"]] = credential

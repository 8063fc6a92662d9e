"""Kind `bridge`: `navigator.credentials` is answered by the Python authenticator.

Any profile exactly as it is, any fault, any engine that Playwright drives. The browser's part
(which origin may use which RP ID) is played by virtual_authenticator, on the origin that the
browser told us, not the page.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from virtual_authenticator import Authenticator, Gesture, WebAuthnError
from virtual_authenticator.client_rules import check_rp_id, check_secure_context, effective_rp_id
from virtual_authenticator.options import creation_options, request_options

from .keys import ATTEMPTS, Key
from .person import APPROVE, DECLINE, REMOVE, TIME_OUT, WAIT, WRONG_FINGER
from .prompts import Answer, Instruction, Prompt

if TYPE_CHECKING:
    from virtual_authenticator import Credential, Profile
    from virtual_authenticator.faults import Fault

    from .prompt_broker import PromptBroker

_GESTURES = {
    APPROVE: Gesture.APPROVE,
    DECLINE: Gesture.DECLINE,
    TIME_OUT: Gesture.IGNORE,
    REMOVE: Gesture.REMOVE,
    WRONG_FINGER: Gesture.WRONG_FINGER,
}


class BridgeKey(Key):
    """The Python authenticator behind a page."""

    kind = "bridge"

    def __init__(self, profile: Profile, broker: PromptBroker) -> None:
        super().__init__(profile, broker)
        self._authenticator = Authenticator(profile)

    @property
    def losses(self) -> list[str]:
        return []

    @property
    def authenticator(self) -> Authenticator:
        return self._authenticator

    @property
    def credentials(self) -> list[Credential]:
        return self._authenticator.credentials

    def faulty(self, *faults: Fault | str) -> AbstractContextManager[None]:
        return self._authenticator.faulty(*faults)

    def _change(self, credential_id: bytes, changes: dict[str, int]) -> None:
        held = self._authenticator.credential(credential_id)
        for name, value in changes.items():
            setattr(held, name, value)
        if "sign_count" in changes:  # where all credentials share one
            self._authenticator.core.device_count = changes["sign_count"]

    # ---- the broker's side

    def begin(self, prompt: Prompt) -> Answer:
        try:
            self._check(prompt)
        except WebAuthnError as error:
            # Before any prompt, as in a browser: nobody is asked, and no gesture is used up.
            return prompt.throw(error.name, str(error))
        *fingers, last = self.person.take()
        prompt.wrong_fingers = len(fingers)
        if last == WAIT and prompt.wrong_fingers < ATTEMPTS:
            return prompt.hold()
        return self._ceremony(prompt, last)

    def perform(self, prompt: Prompt, gesture: str) -> Instruction | None:
        if gesture == WRONG_FINGER:
            prompt.wrong_fingers += 1
            if prompt.wrong_fingers < ATTEMPTS:
                return None
        return self._ceremony(prompt, gesture)

    def _check(self, prompt: Prompt) -> None:
        """The request is well formed, and its page may use the RP ID."""
        if prompt.kind == "create":
            rp_id = creation_options(prompt.options).rp_id
        else:
            rp_id = request_options(prompt.options)[0]
        check_secure_context(prompt.origin)
        effective = effective_rp_id(rp_id, prompt.origin)
        check_rp_id(effective, prompt.origin, self._authenticator.related_origins)

    def _ceremony(self, prompt: Prompt, gesture: str) -> Instruction:
        person = self._authenticator.person
        person.will(*[Gesture.WRONG_FINGER] * prompt.wrong_fingers)
        if gesture in _GESTURES and gesture not in (APPROVE, WRONG_FINGER):
            person.will(_GESTURES[gesture])
        run = self._authenticator.create if prompt.kind == "create" else self._authenticator.get
        try:
            response = run(
                prompt.options,
                prompt.origin,
                cross_origin=True if prompt.cross_origin else None,
                top_origin=prompt.top_origin,
            )
        except WebAuthnError as error:
            return prompt.throw(error.name, str(error))
        finally:
            person.planned.clear()  # what the ceremony did not come to
        return prompt.give(response)

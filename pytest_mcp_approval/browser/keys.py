"""A virtual authenticator in a browser, of either kind, as a test holds it.

What both kinds share: whose turn it is, what was asked, who waits. How a request is answered is
each kind's own (`bridge`, `cdp`); a control that a kind does not have says so and names the one
that has it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar

from .errors import BrowserError
from .person import BrowserPerson
from .prompts import Answer, Instruction, Prompt

if TYPE_CHECKING:
    from virtual_authenticator import Authenticator, Credential, Profile
    from virtual_authenticator.faults import Fault

    from .prompt_broker import PromptBroker

ATTEMPTS = 3
"""Wrong fingers until a client gives up, as in virtual_authenticator."""
PATIENCE = 10.0
"""Seconds that a page gets to ask, and to be told."""


class Key(ABC):
    """One authenticator. The broker asks the one that is in the person's hand."""

    kind: ClassVar[str]

    def __init__(self, profile: Profile, broker: PromptBroker) -> None:
        self.profile = profile
        self.person = BrowserPerson(self.act)
        self.prompts: list[Prompt] = []
        """All that this key was asked, oldest first."""
        self._broker = broker

    def __repr__(self) -> str:
        return f"<Key {self.profile.name} by {self.kind}, {len(self.prompts)} prompts>"

    # ---- what a test looks at

    @property
    @abstractmethod
    def losses(self) -> list[str]:
        """What this kind does differently from the profile, in words."""

    @property
    @abstractmethod
    def credentials(self) -> list[Credential]:
        """All credentials on the key, oldest first where the kind knows."""

    def asked(self, timeout: float = PATIENCE) -> Prompt:
        """The prompt that waits for the person; waits for one to appear."""
        self._broker.until(
            lambda: self._waiting() is not None,
            f"a prompt that waits for a person (person.will('wait')); so far: {self._told()}",
            timeout,
        )
        found = self._waiting()
        assert found is not None
        return found

    # ---- what a test does

    def hold(self) -> None:
        """Take this key in hand: it is asked from now on."""
        self._broker.hand = self

    def put_away(self) -> None:
        """Leave the hand empty: requests find no authenticator."""
        if self._broker.hand is self:
            self._broker.hand = None

    def faulty(self, *faults: Fault | str) -> AbstractContextManager[None]:
        """Every ceremony inside the block has these faults of virtual_authenticator."""
        named = ", ".join(one if isinstance(one, str) else one.name for one in faults)
        raise BrowserError(
            f"faults ({named}) are done by kind='bridge' only; this key is {self.kind!r}"
        )

    @property
    def authenticator(self) -> Authenticator:
        """The Python authenticator behind the key."""
        raise BrowserError(
            f"the Python authenticator is behind kind='bridge' only; this is {self.kind!r}"
        )

    @property
    def related_origins(self) -> dict[str, Any]:
        """By RP ID, the origins that its well-known document lists."""
        return self.authenticator.related_origins

    def override(
        self,
        *,
        bogus_signature: bool | None = None,
        bad_uv: bool | None = None,
        bad_up: bool | None = None,
    ) -> None:
        """Chromium's override bits: a signature that is wrong, flags that stay unset."""
        raise BrowserError(
            "override bits are Chromium's: use kind='cdp', or the faults of this kind, e.g. "
            "key.faulty('signature-bit') or key.faulty(FlipFlag('UV')) "
            f"(got {bogus_signature=}, {bad_uv=}, {bad_up=})"
        )

    def set_credential(
        self,
        credential_id: bytes,
        *,
        sign_count: int | None = None,
        backup_eligible: bool | None = None,
        backup_state: bool | None = None,
    ) -> None:
        """Change what a credential says of itself from now on."""
        wanted = {
            "sign_count": sign_count,
            "backup_eligible": backup_eligible,
            "backup_state": backup_state,
        }
        changes = {name: value for name, value in wanted.items() if value is not None}
        self._change(credential_id, changes)

    @abstractmethod
    def _change(self, credential_id: bytes, changes: dict[str, int]) -> None:
        """What `set_credential` promises; each kind in its own way."""

    # ---- the broker's side

    @property
    def is_platform(self) -> bool:
        """Whether pages see it as a platform authenticator that verifies its user."""
        return self.profile.attachment == "platform" and self.profile.verifies

    @abstractmethod
    def begin(self, prompt: Prompt) -> Answer:
        """A page asks."""

    @abstractmethod
    def perform(self, prompt: Prompt, gesture: str) -> Instruction | None:
        """The person acts on a prompt that waits; None if it goes on waiting."""

    def ended(self, prompt: Prompt) -> Instruction:
        """The browser's own code has come to an end; whether another try follows."""
        raise NotImplementedError  # only where the browser's own code is asked

    def held(self, prompt: Prompt) -> Answer:
        """The browser's own prompt is open and waits."""
        raise NotImplementedError

    def act(self, gesture: str) -> None:
        """What the person does on the open prompt; returns when the page has been told."""
        prompt = self.asked()
        instruction = self.perform(prompt, gesture)
        if instruction is None:
            return
        prompt.go_on(instruction)
        self._broker.until(
            lambda: prompt.waits or not prompt.is_open,
            f"the page to be told that the person did {gesture!r}",
            PATIENCE,
        )

    def _waiting(self) -> Prompt | None:
        return next((one for one in self.prompts if one.waits), None)

    def _told(self) -> str:
        if not self.prompts:
            return "nobody asked this key"
        last = self.prompts[-1]
        state = "is open" if last.is_open else f"ended ({last.error or 'answered'})"
        return f"asked {len(self.prompts)} times, the last one ({last.kind}) {state}"

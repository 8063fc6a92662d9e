"""A request of a page for a passkey, from the call in the page to what came of it.

Knows nothing of how it is answered. A prompt that a person leaves open is a future that the page's
call waits for: Playwright's loop goes on meanwhile, and so does the test.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from playwright.sync_api import Frame

Instruction: TypeAlias = dict[str, Any]
"""What the script in the page does next (`shim/ceremony.js`)."""
Answer: TypeAlias = Instruction | Coroutine[Any, Any, Instruction]

DONE: Instruction = {"do": "done"}

_MESSAGES = {
    "NotAllowedError": "The operation either timed out or was not allowed.",
    "InvalidStateError": "The authenticator has a credential that the request excludes.",
    "NotSupportedError": "None of what the request offers is supported.",
    "OperationError": "A request is already pending.",
}
"""What a page may read. A browser does not tell it why a person did not approve (section 14.5)."""


class AskedKey(Protocol):
    """What a key is to the prompts that it is asked by; `keys` has more for tests."""

    prompts: list[Prompt]

    @property
    def is_platform(self) -> bool: ...
    def begin(self, prompt: Prompt) -> Answer: ...
    def held(self, prompt: Prompt) -> Answer: ...
    def ended(self, prompt: Prompt) -> Instruction: ...


@dataclass(eq=False)
class Prompt:
    """What was asked, by whom, and how it ended."""

    kind: str
    """`create` or `get`."""
    options: dict[str, Any]
    """As PublicKeyCredentialCreationOptionsJSON or ...RequestOptionsJSON."""
    url: str
    origin: str
    cross_origin: bool = False
    top_origin: str | None = None
    key: AskedKey | None = None
    error: str | None = None
    """The name of the exception that the page got."""
    why: str = ""
    """For the test: what the page is not told."""
    response: dict[str, Any] | None = None
    """The RegistrationResponseJSON or AuthenticationResponseJSON that the page got."""
    frame: Frame | None = field(default=None, repr=False)
    wrong_fingers: int = field(default=0, repr=False)
    planned: list[str] = field(default_factory=list, repr=False)
    _over: bool = field(default=False, repr=False)
    _waiting: asyncio.Future[Instruction] | None = field(default=None, repr=False)

    @property
    def rp_id(self) -> str | None:
        """As the page named it; None stands for its host."""
        party = self.options.get("rp") if self.kind == "create" else self.options
        if not isinstance(party, dict):
            return None
        found = party.get("id" if self.kind == "create" else "rpId")
        return found if isinstance(found, str) else None

    @property
    def is_open(self) -> bool:
        """Whether the page still waits for its answer; one that is gone does not."""
        frame = self.frame
        gone = frame is not None and (frame.is_detached() or frame.page.is_closed())
        return not self._over and not gone

    @property
    def waits(self) -> bool:
        """Whether a person is being waited for."""
        return self.is_open and self._waiting is not None and not self._waiting.done()

    def hold(self) -> Coroutine[Any, Any, Instruction]:
        """Leave the page waiting, until `go_on`. Called while Playwright's loop runs."""
        waiting = self._waiting = asyncio.get_running_loop().create_future()

        async def until_told() -> Instruction:
            told: Instruction = await waiting
            return told

        return until_told()

    def go_on(self, instruction: Instruction) -> None:
        """Tell the page that waits; does nothing if none does any more."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(instruction)

    def give(self, response: dict[str, Any]) -> Instruction:
        self.response = response
        return {"do": "give", "response": response}

    def throw(self, name: str, why: str) -> Instruction:
        """End it with an exception; the page learns of it what a browser would tell."""
        self.error, self.why = name, why
        return {"do": "throw", "name": name, "message": _MESSAGES.get(name, why)}

    def close(self, error: str | None = None) -> None:
        """It is over, whichever way."""
        if error is not None and self.response is None and self.error is None:
            self.error = error
        self._over = True
        self.go_on(DONE)

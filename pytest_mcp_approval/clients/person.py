"""The person at a client's terminal: reads what is shown, and types what the description says.

Waits for the texts that the client's description names, never for a time to pass. Whichever prompt
was shown last is the one to answer. Makes no verdict.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..config.client_description import ClientDescription
from ..support.text import neutralise
from .messages import ClientError
from .terminal import Terminal


class ClientPrompt(StrEnum):
    """What a client waits for."""

    READY = "the next command"
    DECIDE = "a decision"
    FIELD = "a value"
    ENDED = "nothing: it has ended"
    NOTHING = "nothing that was described"


@dataclass(frozen=True)
class SeenText:
    """What the client waits for, and what it has shown since it was last told something."""

    prompt: ClientPrompt
    text: str
    name: str = ""
    """The member of a form that is asked for."""
    decides: bool = False
    """Whether the same line lets the person decide, as where decline is typed into a field."""


class Person:
    """Drives one client; `start` runs it, for a call of a tool or for several."""

    def __init__(
        self,
        description: ClientDescription,
        start: Callable[[str, str], Terminal],
    ) -> None:
        self.description = description
        self._start = start
        self._terminal: Terminal | None = None
        self._read = 0
        """Up to where what is shown was answered."""
        self._began = 0
        """From where the current call is shown."""

    # ---- doing

    def calls(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Ask the client to call a tool. `ClientError` if it is not ready for that."""
        written = json.dumps(arguments, ensure_ascii=False)
        if self.description.once_per_call:
            self.leaves()
            self._terminal = self._start(tool, written)
            self._read = self._began = 0
            return
        self.begins()
        line = self.description.call.replace("{tool}", tool).replace("{arguments}", written)
        self._began = self._read = len(self.terminal.shown)
        self.terminal.call(line, tool, written)

    def begins(self) -> None:
        """Start the client, unless it runs, and wait until it is ready."""
        if self._terminal is not None and not self._terminal.ended:
            return
        self.leaves()
        self._terminal = self._start("", "")
        self._read = self._began = 0
        seen = self.sees()
        if seen.prompt is not ClientPrompt.READY:
            raise ClientError(
                f"the client did not get ready (it shows {self.description.ready!r} when it is, "
                f"says the description); it shows {neutralise(seen.text, 300)!r}"
            )

    def enrolls(self) -> SeenText:
        """Ask the client to enroll a passkey, agree to whatever it asks; what it then shows."""
        self.begins()
        self._began = len(self.terminal.shown)
        self.types(self.description.enroll)
        return self.answers(self.description.agree)

    def types(self, text: str) -> None:
        self._read = len(self.terminal.shown)
        self.terminal.type(text)

    def leaves(self) -> None:
        """End the client."""
        if self._terminal is not None:
            self._terminal.close()
            self._terminal = None

    # ---- seeing

    @property
    def terminal(self) -> Terminal:
        if self._terminal is None:
            raise ClientError("the client does not run")
        return self._terminal

    @property
    def shown(self) -> str:
        """All that the client has shown since the tool was called."""
        return self._terminal.shown[self._began :] if self._terminal is not None else ""

    @property
    def all_shown(self) -> str:
        """All that the running client has shown, since it was started."""
        return self._terminal.shown if self._terminal is not None else ""

    def sees(
        self,
        fields: Sequence[str] = (),
        *,
        or_if: Callable[[], bool] = bool,
        seconds: float | None = None,
    ) -> SeenText:
        """Wait for a prompt, or for the end of the client, or until `or_if` holds; as long as the
        client's description says, or for so many seconds."""
        terminal = self.terminal
        terminal.watch(fields)
        found = self._look(fields)

        def something() -> bool:
            nonlocal found
            ended = terminal.ended  # before looking: what it showed last is there then
            found = self._look(fields)
            if found.prompt is ClientPrompt.NOTHING and ended:
                found = SeenText(ClientPrompt.ENDED, found.text)
            return found.prompt is not ClientPrompt.NOTHING or or_if()

        patience = self.description.patience if seconds is None else seconds
        terminal.news.until(something, patience)
        return found

    def answers(
        self,
        decision: str,
        fields: Mapping[str, Sequence[str]] | None = None,
        *,
        at_most: int = 20,
        or_if: Callable[[], bool] = bool,
    ) -> SeenText:
        """Answer every prompt until the client is done, or until `or_if` holds: decisions with this
        one, members of a form by their names, each with its texts in turn and then with the last.
        Returns what was seen at the end."""
        given = {name: list(texts) for name, texts in (fields or {}).items()}
        seen = self.sees(tuple(given), or_if=or_if)
        for _ in range(at_most):
            no = seen.decides and decision != self.description.agree
            if seen.prompt is ClientPrompt.FIELD and not no:
                texts = given[seen.name]
                self._read = len(self.terminal.shown)
                self.terminal.fill(seen.name, texts.pop(0) if len(texts) > 1 else texts[0])
            elif seen.prompt in (ClientPrompt.DECIDE, ClientPrompt.FIELD):
                self.types(decision)
            else:
                break
            seen = self.sees(tuple(given), or_if=or_if)
        return seen

    def _look(self, fields: Sequence[str]) -> SeenText:
        """The prompt on the last line that has one; a member of a form before a decision."""
        text, told = self.terminal.shown[self._read :], self.description
        decision = max(text.rfind(one) for one in told.decide)
        wanted = [(decision, ClientPrompt.DECIDE, "")]
        if not told.once_per_call:
            wanted.append((text.rfind(told.ready), ClientPrompt.READY, ""))
        for name in fields:
            wanted.append(
                (text.rfind(told.field.replace("{name}", name)), ClientPrompt.FIELD, name)
            )
        found = [
            (text.count("\n", 0, place), prompt is ClientPrompt.FIELD, place, prompt, name)
            for place, prompt, name in wanted
            if place >= 0
        ]
        if not found:
            return SeenText(ClientPrompt.NOTHING, text)
        line, _, _, prompt, name = max(found, key=lambda one: one[:3])
        decides = decision >= 0 and text.count("\n", 0, decision) == line
        return SeenText(prompt, text, name, decides)

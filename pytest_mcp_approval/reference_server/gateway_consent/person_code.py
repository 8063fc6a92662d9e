"""A code that only the person knows, asked for with every decision.

The document lets the gateway hand the address of its consent page to the client, so the agent
behind that client can open the page and press the button. A code that the agent does not have stops
it. Wrong ones are counted: a few of them, and nobody decides anything for a while. Knows no
consent.
"""

from __future__ import annotations

import datetime
import os
import threading
from collections.abc import Mapping
from typing import Any

from ..server.clock import Clock
from ..server.pages import FormError
from ..server.secret_text import same
from ..server.settings import ExtensionSettingError

VARIABLE = "GATEWAY_PERSON_CODE"
MEMBER = "code"
SHORTEST = 8
MOST_WRONG = 5
PAUSE = datetime.timedelta(minutes=10)


class PersonCode:
    """Without a code, whoever has the address of a page can answer it."""

    def __init__(self, code: str, clock: Clock) -> None:
        self._code = code
        self._clock = clock
        self._lock = threading.Lock()
        self._wrong: list[datetime.datetime] = []

    def field(self) -> str:
        """For a form."""
        if not self._code:
            return ""
        return (
            f'<label class="code">Your code <input type="password" name="{MEMBER}" required '
            'autocomplete="off"></label>\n'
        )

    def check(self, members: Mapping[str, str]) -> None:
        """`FormError` unless the form has the code."""
        if not self._code:
            return
        with self._lock:
            now = self._clock.now()
            self._wrong = [one for one in self._wrong if now < one + PAUSE]
            if len(self._wrong) >= MOST_WRONG:
                raise FormError("There were too many wrong codes: wait ten minutes.")
            if not same(members.get(MEMBER), self._code):
                self._wrong.append(now)
                raise FormError("This is not your code.")


def read_code(given: Any, environment: Mapping[str, str] | None = None) -> str:
    """By the setting, or by the environment, where no list of processes shows it. It is never
    shown here either."""
    code = (os.environ if environment is None else environment).get(VARIABLE, "")
    code = code if given is None else given
    if not isinstance(code, str) or 0 < len(code) < SHORTEST:
        raise ExtensionSettingError(f"person_code: expected text of {SHORTEST} characters or more")
    return code

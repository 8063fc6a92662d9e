"""The broker that every page of a context asks: one script in each document, one binding.

Takes in what a page says (bounded, and believed only where that cannot help the page), does the
checks that come before any authenticator, and hands the request to the key in the person's hand.
Knows nothing of how a key answers.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Coroutine, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.deadline import Deadline
from ..support.json_reading import JsonError, read_json
from ..support.text import neutralise
from .errors import BrowserError
from .frames import is_allowed, place_of
from .prompts import DONE, Answer, AskedKey, Instruction, Prompt

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Frame

LONGEST = 1_000_000
"""Characters of one message; `shim/options.js` has the same bound."""
MOST_PROMPTS = 1_000
"""Of one test; a page that asks more often is refused."""
_LONGEST_ID = 64
_STEP = 25.0
"""Milliseconds between two looks at what is waited for. Each look asks the driver, the browser and
the page several times: looking more often costs more than it gains."""
_GARBLED: Instruction = {"do": "throw", "name": "TypeError", "message": "The request is malformed."}
_KINDS = ("create", "get")


class PromptBroker:
    """Serves the pages of one browser context."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.keys: Sequence[AskedKey] = ()
        """All that were attached, in order."""
        self.hand: AskedKey | None = None
        """The key that the person holds."""
        self.prompts: list[Prompt] = []
        self.problems: list[str] = []
        """What went wrong in the harness, or in how a test used it, while a page asked."""
        self._by_id: dict[str, Prompt] = {}
        name = f"ceremony{secrets.token_hex(8)}"
        context.expose_binding(name, self._called)
        context.add_init_script(script=_script(name))

    # ---- for those who wait

    def until(self, condition: Callable[[], bool], what: str, timeout: float) -> None:
        """Wait while Playwright's events go on."""
        deadline = Deadline(timeout)
        while not condition():
            self.check()
            if deadline.passed:
                raise BrowserError(f"waited {deadline.in_words} in vain for {what}")
            self._pump()

    def _pump(self) -> None:
        for page in self.context.pages:
            if not page.is_closed():
                page.wait_for_timeout(_STEP)
                return
        raise BrowserError("every page of this test is closed: nothing can happen any more")

    def check(self) -> None:
        """Raise what went wrong while pages asked: they were told something harmless instead."""
        if self.problems:
            problem, self.problems[:] = self.problems[0], []
            raise BrowserError(problem)

    def close(self) -> None:
        """Nobody waits any more."""
        for prompt in self._by_id.values():
            prompt.close("AbortError")
        self._by_id.clear()

    # ---- what a page says

    def _called(self, source: dict[str, Any], said: Any = None, *_: Any) -> Answer:
        message = _message(said)
        return _GARBLED if message is None else _apart(lambda: self._taken(source, message))

    def _taken(self, source: dict[str, Any], message: dict[str, Any]) -> Answer:
        try:
            return self._heard(source["frame"], message)
        except Exception as error:
            # The page is told what a browser would; the test hears the truth (`check`).
            self.problems.append(f"{type(error).__name__}: {neutralise(str(error), 500)}")
            return {"do": "throw", "name": "UnknownError", "message": "The request failed."}

    def _heard(self, frame: Frame, message: dict[str, Any]) -> Answer:
        step = message.get("step")
        if step == "platform":
            return {"available": self.hand is not None and self.hand.is_platform}
        if step == "document":
            self._forget(frame)
            return DONE
        name = message.get("id")
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_ID:
            return _GARBLED
        if step == "begin":
            return self._begin(frame, name, message)
        prompt = self._by_id.get(name)
        if prompt is None or prompt.frame != frame or not prompt.is_open:
            return DONE if step in ("abort", "over") else _GARBLED
        if step in ("abort", "over"):
            prompt.close("AbortError" if step == "abort" else None)
            del self._by_id[name]
            return DONE
        if prompt.key is None:
            return _GARBLED
        if step == "held":
            return prompt.key.held(prompt)
        if step == "ended":
            error, response = message.get("error"), message.get("response")
            prompt.error = neutralise(error, 100) if isinstance(error, str) else None
            prompt.response = response if isinstance(response, dict) else None
            return prompt.key.ended(prompt)
        return _GARBLED

    def _begin(self, frame: Frame, name: str, message: dict[str, Any]) -> Answer:
        kind, options = message.get("kind"), message.get("options")
        if kind not in _KINDS or not isinstance(options, dict) or name in self._by_id:
            return _GARBLED
        if len(self.prompts) >= MOST_PROMPTS:
            return {"do": "throw", "name": "NotAllowedError", "message": "Too many requests."}
        place = place_of(frame, opaque=message.get("opaque") is not False)
        prompt = Prompt(
            kind, options, place.url, place.origin, place.cross_origin, place.top_origin
        )
        prompt.frame = frame
        pending = self._pending_beside(frame)
        self.prompts.append(prompt)
        self._by_id[name] = prompt
        if pending is not None:
            return prompt.throw("OperationError", f"{pending.url} has a prompt open on this page")
        if message.get("mediation") == "conditional":
            # A browser that cannot do it says so by a TypeError, and was asked before:
            # isConditionalMediationAvailable() is false here.
            return prompt.throw("TypeError", "mediation 'conditional' is not supported here")
        if prompt.cross_origin and not (
            message.get("permitted") is True and is_allowed(frame, kind)
        ):
            why = f"the frame's allow does not name publickey-credentials-{kind}"
            return prompt.throw("NotAllowedError", why)
        if message.get("permitted") is not True:
            why = f"the permissions policy forbids publickey-credentials-{kind}"
            return prompt.throw("NotAllowedError", why)
        key = self.hand
        if key is None:
            return prompt.throw("NotAllowedError", "no key is in the person's hand")
        prompt.key = key
        key.prompts.append(prompt)
        return key.begin(prompt)

    def _forget(self, frame: Frame) -> None:
        """End what a frame has open: its document has been replaced."""
        for name, prompt in list(self._by_id.items()):
            if prompt.frame == frame:
                prompt.close("AbortError")
                del self._by_id[name]

    def _pending_beside(self, frame: Frame) -> Prompt | None:
        """A prompt that another frame of the same page has open; a document asks one by one."""
        self._forget(frame)
        for prompt in self._by_id.values():
            if prompt.is_open and prompt.frame is not None and prompt.frame.page == frame.page:
                return prompt
        return None


def _apart(hear: Callable[[], Answer]) -> Coroutine[Any, Any, Instruction]:
    """Hear a page in a greenlet of its own, from which Playwright may be asked things meanwhile;
    versions before 1.65 do not see to that."""
    # What Playwright's sync API stands on.
    from greenlet import greenlet  # type: ignore[import-untyped]

    heard: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    greenlet(lambda: heard.set_result(hear())).switch()

    async def answer() -> Instruction:
        found = await heard
        return found if isinstance(found, dict) else await found

    return answer()


def _message(said: Any) -> dict[str, Any] | None:
    """A message as our script sends it; None for anything else that a page may have made up."""
    if not isinstance(said, str) or len(said) > LONGEST:
        return None
    try:
        message = read_json(said)
    except JsonError:
        return None
    return message if isinstance(message, dict) else None


@cache
def _parts() -> str:
    folder = Path(__file__).parent / "shim"
    names = ("options.js", "results.js", "ceremony.js")
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def _script(binding: str) -> str:
    # Where there is no such API (not a secure context, another engine) a page finds none.
    return (
        "(() => { 'use strict';\n"
        f"const binding = globalThis[{json.dumps(binding)}];\n"
        f"delete globalThis[{json.dumps(binding)}];\n"
        # What the document before this one had open is over.
        "binding(JSON.stringify({ step: 'document' })).catch(() => {});\n"
        "if (typeof CredentialsContainer === 'undefined'"
        " || typeof PublicKeyCredential === 'undefined') return;\n"
        f"{_parts()}\n}})();"
    )

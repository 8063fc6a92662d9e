"""A hook of the user: a command or a URL that is told something, and may answer.

Both get a JSON text: a URL in a POST, a command on its standard input, with additional arguments.
Does not know what the message means, or what the hook does with it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .command import CommandError, run_command, words_of
from .fetch import FetchError, fetch
from .text import last_lines

_LARGEST_ANSWER = 1024 * 1024
_LOOKED_AT = 2000
"""How much of the body of a refusal is shown."""


class HookError(Exception):
    """The hook could not be reached, or refused; one line says why, safe to print."""


def tell_hook(
    hook: str,
    told: Any,
    *,
    seconds: float,
    words: Sequence[str] = (),
    directory: Path | None = None,
) -> bytes:
    """Returns its answer, which may be empty."""
    body = json.dumps(told).encode()
    try:
        if not hook.startswith(("http://", "https://")):
            command = [*words_of(hook), *words]
            done = run_command(
                command, seconds=seconds, given=body, directory=directory, limit=_LARGEST_ANSWER
            )
            return done.check().output
        answer = fetch(
            hook,
            seconds=seconds,
            method="POST",
            headers={"Content-Type": "application/json"},
            body=body,
            limit=_LARGEST_ANSWER,
            cut=True,
        )
    except (CommandError, FetchError) as error:
        raise HookError(str(error)) from None
    if not answer.ok:
        said = last_lines(answer.body[:_LOOKED_AT])
        raise HookError(f"got status {answer.status}, expected 2xx{': ' if said else ''}{said}")
    return answer.body

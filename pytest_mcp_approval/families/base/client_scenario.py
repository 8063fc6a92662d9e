"""What the scenarios about clients share: one scenario's view of a client and of its person.

The suite's server sends, the client is watched. An expectation that is not met raises a `Finding`;
a client that does not get as far as the check is `NotVerified`. Knows no specification.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest

from ...catalogue import Finding, NotApplicable, NotVerified
from ...catalogue.marking import WARNINGS
from ...clients.http_door import Service
from ...clients.messages import Answer, ClientError, HangUp, LostSession
from ...clients.opened import ClientUnderTest, OpenedClient
from ...clients.person import ClientPrompt, SeenText
from ...clients.silence import Silence
from ...support.recording import note
from ...support.text import neutralise
from ...wire.eras import Era
from .scenario import Several

Warn = Callable[[str], None]
_LONGEST = 160
_BLANKS = re.compile(r"\s+")


def warnings_of(item: pytest.Item) -> Warn:
    """Notes what is not a failure."""
    return item.stash.setdefault(WARNINGS, []).append


@contextlib.contextmanager
def client_for(
    opened: OpenedClient, era: Era, authenticator: Service | None = None
) -> Iterator[ClientUnderTest]:
    """A client and its server for one scenario; "not applicable" if it does not speak that era."""
    if era not in opened.eras:
        raise NotApplicable(f"the client does not speak the {era.value} era")
    with opened.client(era, authenticator) as client:
        yield client


def shown_whole(text: str, screen: str) -> bool:
    """Whether a text is on a screen with every character in its place; where lines break, and how
    they are indented, is the screen's own business."""
    return text in screen or _BLANKS.sub("", text) in _BLANKS.sub("", screen)


class ClientScenario:
    """One scenario's view of the client."""

    def __init__(self, client: ClientUnderTest, warn: Warn) -> None:
        self.client = client
        self.server = client.server
        self.person = client.person
        self.description = client.description
        self.warn = warn

    def expect(self, holds: bool, *, sent: str, expected: str, got: str) -> None:
        """Any expectation: `sent` is what the suite's server or the person did."""
        if not holds:
            raise Finding(sent=sent, expected=expected, got=got)

    def several(self) -> AbstractContextManager[Several]:
        """For a loop over variants: goes on after a finding, and raises the worst one at the
        end."""
        return Several.tried()

    # ---- the person

    def calls(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """The person has the client call a tool."""
        note("page", f"the person has the client call {tool}")
        self.person.calls(tool, arguments)

    def screen(self) -> str:
        """What the client has shown since the call."""
        return self.person.shown

    def finishes(self, seen: SeenText | None = None) -> str:
        """Wait until the client is done with a call, agreeing to whatever else it asks; returns
        what it has shown. `NotVerified` if it gets stuck."""
        if seen is None:
            seen = self.person.answers(self.description.agree)
        if seen.prompt not in (ClientPrompt.READY, ClientPrompt.ENDED):
            raise ClientError(f"the client waits for {seen.prompt}, and shows {shortly(seen.text)}")
        return self.screen()

    def waits_in_vain(
        self, silence: Silence, fields: Mapping[str, Sequence[str]] | None = None
    ) -> bool:
        """The person agrees, and the server says nothing; whether the client has given up by itself
        when the silence is long enough. `NotVerified` if nothing was sent to be silent about."""
        agree = self.description.agree
        self.person.answers(agree, fields, or_if=lambda: silence.has_begun)
        self.need(silence.has_begun, "the person agreed, and nothing was called")
        seen = self.person.sees(seconds=self.description.silence)
        return seen.prompt in (ClientPrompt.READY, ClientPrompt.ENDED)

    @contextlib.contextmanager
    def second_try(self, after: Answer | None) -> Iterator[None]:
        """The person asks again after a call that was answered like this. No document says that it
        must work: over stdio the server may have ended, and a client need not start it again."""
        try:
            yield
        except (NotVerified, ClientError):
            if self.description.over_stdio and isinstance(after, (HangUp, LostSession)):
                raise NotApplicable("the client does not start its server again") from None
            raise

    def need(self, holds: bool, what: str) -> None:
        """`NotVerified` unless it holds: without it nothing else can be checked."""
        if not holds:
            raise NotVerified(f"{what}; the client shows {shortly(self.screen())}")


def shortly(text: str) -> str:
    """The end of what a client has shown: it waits there."""
    told = " ".join(text.split())
    cut = f"...{told[-_LONGEST:]}" if len(told) > _LONGEST else told
    return repr(neutralise(cut, _LONGEST + 10)) if told else "nothing"

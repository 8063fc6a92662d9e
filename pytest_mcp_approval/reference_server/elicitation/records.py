"""What the gate stores, and what it is asked about. Knows no rule."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..server.extension import Caller
from .forms import QuestionForm

Describe = Callable[[Mapping[str, Any]], str]
"""What a call with these arguments does, as a sentence."""


@dataclass(frozen=True)
class AskingTool:
    """A tool that runs on a person's yes only."""

    name: str
    describe: Describe
    form: QuestionForm | None
    """What is asked; None: the question is on a page of this server."""


@dataclass(frozen=True)
class GatedCall:
    """One call of such a tool, as it came."""

    tool: AskingTool
    arguments: Mapping[str, Any]
    caller: Caller
    run: Callable[[], Any]
    """What the tool does. Called once at most."""


@dataclass(eq=False)
class ElicitationQuestion:
    """One question about one call."""

    id: str
    """Random. An approval is used up under it."""
    expires_at: datetime.datetime
    state: str = ""
    """As the client has it; "" if the question is inside an open call."""
    is_told: bool = False
    """Whether the client knows that the person has finished on the page."""


class PageDecision(StrEnum):
    """What a person decided on the page."""

    NONE = "none"
    APPROVED = "approved"
    DECLINED = "declined"


@dataclass(frozen=True)
class SealingKey:
    """The key of all servers over one store."""

    name: str
    value: bytes


@dataclass(frozen=True)
class SpentQuestion:
    """One that is over: it ran, or somebody said no."""

    id: str
    expires_at: datetime.datetime
    """Until then its state could be sent once more."""


@dataclass(frozen=True)
class PageQuestion:
    """One that is answered on a page."""

    id: str
    user: str
    """Who may answer: the user whose client called."""
    message: str
    csrf: str
    """In the page's form, so that no other page can send it."""
    expires_at: datetime.datetime
    decision: PageDecision = PageDecision.NONE

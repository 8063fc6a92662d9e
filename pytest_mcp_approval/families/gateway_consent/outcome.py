"""What a gateway answered to a call: the tool's result, or why the tool was not run.

The document writes a refusal's code as a word, where JSON-RPC wants a whole number; that and
`error.data.code` are read, and what the user's table adds (`shape.Wording`). Members may be in
camelCase, as in the document, or in snake_case. Knows no verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...support.text import neutralise
from ...wire import Reply
from ..base.outcome import ObservedOutcome, data_of, errs, objects_in, texts_in
from ..base.paths import value_at
from .shape import Wording
from .vocabulary import AUTH_URL, CONSENT_URL, FAMILY, MEMBERS, Refusal


def snake_case(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter.group().lower()}", name)


@dataclass(frozen=True)
class GatewayOutcome(ObservedOutcome):
    """One call, and what came of it."""

    caller: str
    """The suite's name for this client, which may have sent none."""
    name: str
    arguments: Any
    reply: Reply
    code: str = ""
    """The code of the refusal; "" if there is none."""
    told_in: str = ""
    """Where the code was: error.code, error.data or a tool error."""
    members: Mapping[str, Any] = field(default_factory=dict)
    """Under the document's names."""
    snake: tuple[str, ...] = ()
    """Members that came in snake_case."""
    sent_code: Any = None
    """The code as sent, if it was not the document's word."""
    app: str = ""
    tool: str = ""
    """Which tool of which app was called, if the gateway's question does not say so."""
    dialogs: tuple[Mapping[str, Any], ...] = ()
    """Shown while the call waited, if the gateway asks in dialogs."""
    decision: str = ""
    """What a person answered there; "" if a dialog was closed without an answer."""
    again: Callable[[], GatewayOutcome] | None = field(default=None, repr=False, compare=False)
    """The same call once more."""

    @classmethod
    def read(
        cls,
        caller: str,
        name: str,
        arguments: Any,
        reply: Reply,
        runs: int | None = None,
        probed: bool = False,
        wording: Wording | None = None,
    ) -> GatewayOutcome:
        wording = wording or Wording()
        told, meaning = _told(reply, wording)
        members, snake = _named(told.data, wording.fields)
        return cls(
            *(caller, name, arguments, reply),
            runs=runs,
            probed=probed,
            code=meaning,
            told_in=told.place if meaning else "",
            members=members,
            snake=snake,
            sent_code=None if told.code == meaning else told.code,
        )

    # ---- what it says

    @property
    def refused(self) -> bool:
        """The answer is not a result of the tool: a JSON-RPC error, a tool error, or what the
        user's table calls a refusal."""
        return self.reply.error is not None or errs(self.reply) or bool(self.code)

    @property
    def succeeded(self) -> bool:
        return self.reply.answered and not self.refused

    @property
    def questions(self) -> list[Mapping[str, Any]]:
        """The dialogs that asked for a decision and not for a key."""
        return [one for one in self.dialogs if one.get("kind") != "credential"]

    @property
    def needs_consent(self) -> bool:
        """The person was asked, by the answer or in a dialog, and has not decided."""
        unanswered = bool(self.questions) and not self.decision
        return self.code == Refusal.CONSENT_REQUIRED or unanswered

    @property
    def needs_authorization(self) -> bool:
        """The app's authorisation comes next. The document names no code for that: any refusal that
        leads to the authorisation counts."""
        shown = len(self.questions) < len(self.dialogs)
        leads = self.code == Refusal.AUTHORIZATION_REQUIRED or bool(self.auth_url) or shown
        return self.refused and leads and not self.needs_consent

    @property
    def denied(self) -> bool:
        """Refused without a new question."""
        return self.refused and not self.needs_consent and not self.needs_authorization

    def text(self, member: str) -> str:
        value = self.members.get(member)
        return value if isinstance(value, str) else ""

    @property
    def consent_url(self) -> str:
        return self.text(CONSENT_URL)

    @property
    def auth_url(self) -> str:
        return self.text(AUTH_URL)

    @property
    def reason(self) -> str | None:
        return self.code or None

    @property
    def said(self) -> str:
        line = f"{self.code} ({self.told_in})" if self.code else self.reply.describe()
        if self.code and self.sent_code is not None:
            line = f"{shown(str(self.sent_code))}, which is {line}"
        return f"{line}, after {len(self.dialogs)} dialog(s)" if self.dialogs else line

    @property
    def ran_in_words(self) -> str:
        if self.runs is None:
            return ", something ran"
        return ", tool run" if self.runs else ", tool not run"


class _Told(NamedTuple):
    """A code, its place, the members beside it, and the message."""

    code: Any
    place: str
    data: Mapping[str, Any]
    message: str


def _told(reply: Reply, wording: Wording) -> tuple[_Told, str]:
    """The first code with a known meaning, and its meaning; else the first code."""
    places = list(_places(reply, wording))
    for told in places:
        meaning = wording.meaning(told.code, told.message)
        if meaning is not None:
            return told, meaning.value
    return places[0] if places else _Told(None, "", {}, ""), ""


def _places(reply: Reply, wording: Wording) -> Iterator[_Told]:
    """The places where a refusal may say what it is."""
    error, result = reply.error, reply.result
    objects = _objects(result)
    message = error.message if error is not None else " ".join(texts_in(result))[:10_000]
    raw = error.raw if error is not None and isinstance(error.raw, Mapping) else {}
    data = data_of(reply)
    for path in wording.code_at:
        tree = {"error": raw, "result": result, "text": next(iter(objects), None)}
        code = value_at(tree, path)
        if code is not None:
            beside = data or next(iter(objects), {})
            yield _Told(code, path, beside, message)
    if error is not None:
        yield _Told(raw.get("code"), "error.code", data, message)
        yield _Told(data.get("code"), "error.data", data, message)
        return
    # A result that mentions consent is a result, unless the user's table says otherwise.
    if not errs(reply) and not wording.own:
        return
    place = "a tool error" if errs(reply) else "a result"
    for found in objects:
        inside = found.get("data")
        beside = inside if isinstance(inside, Mapping) else found
        yield _Told(found.get("code"), place, beside, str(found.get("message", message)))
    if isinstance(result, dict) and errs(reply):
        yield _Told(None, place, {}, message)


def _objects(result: Any) -> list[Mapping[str, Any]]:
    """What a tool error may hold: structured content, or a text that is JSON; `error` inside."""
    objects: list[Mapping[str, Any]] = list(objects_in(result))
    return objects + [one["error"] for one in objects if isinstance(one.get("error"), Mapping)]


def _named(
    data: Mapping[str, Any], fields: Mapping[str, str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    members: dict[str, Any] = {}
    snake = []
    for name in MEMBERS:
        if name in fields:
            value = value_at(data, fields[name])
            if value is not None:
                members[name] = value
        elif name in data:
            members[name] = data[name]
        elif snake_case(name) in data:
            members[name] = data[snake_case(name)]
            snake.append(snake_case(name))
    return members, tuple(snake)


def hint_of_codes(answer: GatewayOutcome) -> str:
    """What to say in the table, if a refusal that is not understood is the gateway's question."""
    if answer.code or not answer.refused or answer.executed:
        return ""
    return f"; if that is how it asks a person: codes.{Refusal.CONSENT_REQUIRED} in [{FAMILY}]"


def shown(text: str, limit: int = 60) -> str:
    """Any name, in quotes and safe to print."""
    return f"'{neutralise(text, limit)}'"

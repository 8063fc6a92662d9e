"""Questions to approval/challenge/create: what is offered, what is hashed, what is refused.

The method runs nothing, so it may be asked about any arguments. A server may refuse arguments that
do not fit its tool; then another tool or another place in the arguments is tried, and what is
refused everywhere is `NotVerified`, never a finding.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ...catalogue import Finding, NotApplicable, NotVerified
from ...config.settings import PREFIX
from ...support.secrets import beginning
from ...wire import Outcome, RawJson, Reply
from ..base.outcome import errs
from . import vocabulary as words
from .driver import Approval, Challenge, ListedTool
from .outcome import ApprovalOutcome
from .scenario import Ceremony
from .settings import settings_of

EXTRA_MEMBER = "mcpApprovalProbe"
"""A name that no tool's schema knows."""

_INVALID_PARAMS = -32602
_DEAD = (Outcome.NO_ANSWER, Outcome.CLOSED, Outcome.UNREACHABLE)


# ---- asking


def tools_to_ask(ceremony: Ceremony) -> list[ListedTool]:
    """Gated tools to ask challenges for: first those with known arguments, then the others."""
    gated = [tool for tool in ceremony.approval.tools() if tool.gated]
    if not gated:
        raise NotVerified("needs a gated tool in tools/list")
    return sorted(gated, key=lambda tool: tool.arguments is None)


def safe_arguments(tool: ListedTool) -> dict[str, Any]:
    return dict(tool.arguments or {})


def ask(
    ceremony: Ceremony, tool: ListedTool, arguments: Any, *, approval: Approval | None = None
) -> tuple[Challenge | None, Reply]:
    """A challenge, or None if the server refuses these arguments. A server that does not answer at
    all is a finding, since nothing here gives it a reason."""
    reply = (approval or ceremony.approval).request_challenge(tool.name, arguments)
    if reply.outcome in _DEAD:
        raise Finding(
            sent=f"approval/challenge/create for {tool.name}, {shown(arguments)}",
            expected="a challenge or an error",
            got=reply.describe(),
        )
    envelope = reply.result
    if isinstance(envelope, dict) and isinstance(envelope.get("requestOptions"), dict):
        return Challenge(tool.name, arguments, envelope, reply), reply
    return None, reply


def issued(
    ceremony: Ceremony,
    tool: ListedTool,
    arguments: Any = None,
    *,
    approval: Approval | None = None,
) -> Challenge:
    """A challenge, with the tool's own safe arguments if no others are given."""
    chosen = safe_arguments(tool) if arguments is None else arguments
    challenge, reply = ask(ceremony, tool, chosen, approval=approval)
    if challenge is None:
        raise NotVerified(f"no challenge for {tool.name}: {reply.describe()}")
    return challenge


def nothing_with_arguments(ceremony: Ceremony) -> NoReturn:
    """No gated tool was found whose arguments are known: none takes any, or nobody said which."""
    if not any(tool.properties or tool.arguments for tool in tools_to_ask(ceremony)):
        raise NotApplicable("no gated tool of this server takes arguments")
    raise NotVerified(f"needs a gated tool with arguments: {PREFIX}tool NAME=JSON")


def any_challenge(ceremony: Ceremony) -> Challenge:
    """A challenge for a gated tool, even if none may be run."""
    _ = ceremony.passkey
    return issued(ceremony, tools_to_ask(ceremony)[0])


def cross_platform_tool(ceremony: Ceremony, *, named: bool) -> ListedTool:
    """A tool of that class that may be run, and whose listing names the class or leaves it out. Not
    applicable if all its tools of that class are of the other kind."""
    kinds = {
        tool.annotation.class_is_given
        for tool in ceremony.approval.tools()
        if tool.annotation and tool.annotation.authenticator_class is words.DEFAULT_CLASS
    }
    if kinds == {not named}:
        ceremony.not_applicable(
            f"no cross-platform tool {'names its' if named else 'leaves out the'} class here"
        )
    return ceremony.tool_of_class(words.DEFAULT_CLASS, given=named)


def issued_for_each(ceremony: Ceremony) -> list[tuple[ListedTool, Challenge]]:
    """A challenge for every gated tool. One that needs arguments which the suite does not know is
    skipped."""
    _ = ceremony.passkey
    found = []
    for tool in tools_to_ask(ceremony):
        challenge, reply = ask(ceremony, tool, safe_arguments(tool))
        if challenge is not None:
            found.append((tool, challenge))
        elif tool.arguments is not None or not found:
            raise NotVerified(f"no challenge for {tool.name}: {reply.describe()}")
    return found


def shown(arguments: Any) -> str:
    """Arguments for a report: on one line, as they were spelled."""
    if isinstance(arguments, RawJson):
        text = arguments.text
        if isinstance(text, str):
            return beginning(ascii(text).strip("'"), 160)
        return beginning(repr(text), 160)
    if isinstance(arguments, Mapping) and any(isinstance(v, RawJson) for v in arguments.values()):
        members = (f"{ascii(name)[1:-1]}: {shown(value)}" for name, value in arguments.items())
        return f"{{{', '.join(members)}}}"
    return beginning(json.dumps(arguments), 160)


# ---- what a challenge says


def halves(challenge: Challenge) -> tuple[bytes, bytes]:
    """Nonce and action hash; other rules look at what cannot be read."""
    try:
        return words.split_wire_challenge(challenge.wire_challenge)
    except (KeyError, ValueError) as error:
        raise NotVerified(f"requestOptions.challenge cannot be read: {error}") from None


def action_hash_of(challenge: Challenge) -> bytes:
    return halves(challenge)[1]


# ---- arguments of any spelling


@dataclass(frozen=True)
class ArgumentPlace:
    """A tool, and where in its arguments a value can be put."""

    tool: ListedTool
    member: str | None
    """None: the value is the whole of the arguments."""

    def arguments(self, text: str | None) -> Any:
        """The arguments with the value spelled like that; None leaves the member out."""
        if self.member is None:
            return RawJson(text or "{}")
        members: dict[str, Any] = safe_arguments(self.tool)
        members.pop(self.member, None)
        return members if text is None else {**members, self.member: RawJson(text)}

    def canonical(self, text: str) -> str:
        """The arguments as RFC 8785 writes them, for a value that is already written that way."""
        if self.member is None:
            return text
        members = {
            name: words.canonical_arguments(value).decode()
            for name, value in safe_arguments(self.tool).items()
        }
        members[self.member] = text
        ordered = sorted(members.items(), key=lambda member: member[0].encode("utf-16-be"))
        spelled = (f"{words.canonical_arguments(name).decode()}:{v}" for name, v in ordered)
        return f"{{{','.join(spelled)}}}"


def _places(ceremony: Ceremony) -> Iterator[ArgumentPlace]:
    tools = tools_to_ask(ceremony)
    for tool in tools:
        yield ArgumentPlace(tool, EXTRA_MEMBER)
    for tool in tools:
        for member in dict.fromkeys((*tool.properties, *safe_arguments(tool))):
            yield ArgumentPlace(tool, member)
    for tool in tools:
        yield ArgumentPlace(tool, None)


def ask_all(
    ceremony: Ceremony, texts: Sequence[str | None]
) -> tuple[ArgumentPlace, list[Challenge]]:
    """Challenges for the same call with each of these values, at a place where all are issued."""
    _ = ceremony.passkey
    refused: Reply | None = None
    for place in _places(ceremony):
        whole = place.member is None
        if whole and not all(text and text.lstrip().startswith("{") for text in texts):
            continue
        challenges = []
        for text in texts:
            challenge, reply = ask(ceremony, place.tool, place.arguments(text))
            if challenge is None:
                refused = refused or reply
                break
            challenges.append(challenge)
        else:
            return place, challenges
    got = "" if refused is None else f": {refused.describe()}"
    raise NotVerified(f"no gated tool gets a challenge for arguments of such a kind{got}")


def respelled(arguments: Mapping[str, Any]) -> dict[str, str]:
    """The same arguments in other words: texts that RFC 8785 writes alike, by what is unusual."""
    members = list(arguments.items())
    escaped = {_escaped(name): value for name, value in members}
    found = {
        "white space": _object(members, _plain, comma=" ,\t", colon=" : ", ends=("{ ", "\t}")),
        "line breaks": _object(members, _plain, comma=",\r\n  ", ends=("{\n  ", "\n}")),
        "members in reverse": _object(members[::-1], _plain),
        "escapes in names": "{" + ",".join(f"{n}:{_plain(v)}" for n, v in escaped.items()) + "}",
        "escapes in texts": _object(members, _escaped_texts),
        "numbers with a fraction": _object(members, lambda v: _numbers(v, ".0")),
        "numbers with an exponent": _object(members, lambda v: _numbers(v, "e0")),
    }
    usual = _object(members, _plain)
    return {name: text for name, text in found.items() if text != usual}


def _object(
    members: Sequence[tuple[str, Any]],
    write: Any,
    *,
    comma: str = ",",
    colon: str = ":",
    ends: tuple[str, str] = ("{", "}"),
) -> str:
    inner = comma.join(f"{_plain(name)}{colon}{write(value)}" for name, value in members)
    return f"{ends[0]}{inner}{ends[1]}"


def _plain(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _escaped(text: str) -> str:
    units = text.encode("utf-16-be")
    return (
        '"' + "".join(f"\\u{units[i]:02x}{units[i + 1]:02X}" for i in range(0, len(units), 2)) + '"'
    )


def _escaped_texts(value: Any) -> str:
    return _escaped(value) if isinstance(value, str) else _plain(value)


def _numbers(value: Any, ending: str) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return f"{value}{ending}" if whole else _plain(value)


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_SAYS_NOTHING = {"title", "description", "default", "examples", "deprecated"}
_UNDERSTOOD = {"type", "enum", "minimum", "maximum", "minLength", "maxLength"}


def clearly_fits(tool: ListedTool, name: str, value: Any) -> bool:
    """Whether the tool's schema declares this argument and allows this value, beyond doubt."""
    schema = tool.properties.get(name)
    if not isinstance(schema, dict) or schema.keys() - _SAYS_NOTHING - _UNDERSTOOD:
        return False
    kind = schema.get("type", list(_TYPES))
    typed = any(
        isinstance(value, _TYPES.get(one, ())) and isinstance(value, bool) <= (one == "boolean")
        for one in ([kind] if isinstance(kind, str) else kind)
    )
    return typed and value in schema.get("enum", [value]) and _within(schema, value)


def _within(schema: Mapping[str, Any], value: Any) -> bool:
    if isinstance(value, str):
        low, high = schema.get("minLength", 0), schema.get("maxLength", len(value))
        return bool(low <= len(value) <= high)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return True


def variations(tool: ListedTool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The tool's safe arguments with one of them changed, within its schema as far as is known: the
    name of the changed one, and all of them."""
    safe = safe_arguments(tool)
    for name, value in safe.items():
        described = tool.properties.get(name)
        for other in _other_values(value, described if isinstance(described, dict) else {})[:1]:
            yield name, {**safe, name: other}


def _other_values(value: Any, schema: Mapping[str, Any]) -> list[Any]:
    choices = schema.get("enum")
    if isinstance(choices, list):
        return [choice for choice in choices if choice != value]
    if schema.keys() & {"const", "pattern", "format"}:
        return []
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        top = schema.get("maximum")
        return [value + 1] if not isinstance(top, int | float) or value < top else [value - 1]
    if isinstance(value, str):
        return [value[:-1] + ("y" if value.endswith("x") else "x")]
    return []


def failing_call(ceremony: Ceremony) -> tuple[ListedTool, Any]:
    """A gated tool and arguments that get a challenge, pass the gate, and that the tool itself then
    refuses. Only the user knows some that are safe to try."""
    for name, arguments in settings_of(ceremony.target).failing.items():
        tool = ceremony.approval.tool(name)
        _ = ceremony.passkey
        ungated = ceremony.approval.call_without_evidence(name, arguments)
        if ungated.reason == words.Reason.MISSING_EVIDENCE:
            return tool, arguments
        raise NotApplicable(f"arguments that {name} refuses never reach its gate here")
    raise NotVerified(
        "needs arguments that a gated tool itself refuses: [sep2672.failing] TOOL = {...}",
        minor=True,
    )


def schema_refused(ceremony: Ceremony, outcome: ApprovalOutcome, tool: str, arguments: Any) -> bool:
    """Whether the tool's schema refused the arguments of a call, and nothing ran.

    The SEP does not say whether a schema is looked at before or after section 4.8. Some libraries
    answer -32602, others a result that is an error. A tool that ran and failed says the latter too;
    but then the same call without evidence is stopped at the gate, and answered otherwise."""
    error = outcome.reply.error
    if outcome.executed:
        return False
    if error is not None:
        return error.code == _INVALID_PARAMS
    return errs(outcome.reply) and errs(
        ceremony.approval.call_without_evidence(tool, arguments).reply
    )


# ---- afterwards


def expect_still_issues(ceremony: Ceremony, *, after: str) -> None:
    """An honest challenge is still issued; it was before."""
    tool = tools_to_ask(ceremony)[0]
    reply = ceremony.approval.request_challenge(tool.name, safe_arguments(tool))
    ceremony.expect(
        reply.outcome is Outcome.RESULT,
        sent=f"an honest approval/challenge/create after {after}",
        expected="a challenge, as before",
        got=reply.describe(),
    )


# ---- the action hash, as section 4.6 makes it


def expected_hash(tool: str, canonical: str, server_id: str, separator: bytes = b"\0") -> bytes:
    """Written out here on purpose: the suite must not share a misreading with its own server."""
    parts = (tool.encode(), canonical.encode(), server_id.encode())
    return hashlib.sha256(separator.join(parts)).digest()


def server_id_of(ceremony: Ceremony) -> str:
    """The target's serverId. Rules that ask for it have `needs = ["server-id"]`."""
    known = settings_of(ceremony.target).server_id
    assert known is not None
    return known


def canonical_text(value: Any) -> str:
    """A value as RFC 8785 writes it."""
    return words.canonical_arguments(value).decode()

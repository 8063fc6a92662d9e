"""Servers that hash arguments wrongly: section 4.6."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import rfc8785

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.reference_server.sep2672.demonstration import (
    DEMONSTRATION_TOOLS,
    RESTART_SERVICE,
    Tool,
)
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt
from pytest_mcp_approval.reference_server.sep2672.settings import ApprovalSettings
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from tests.mutants.registry import having, mutant
from tests.mutants.sep2672.parts import WritesArguments, known_members


def each(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with every scalar in it changed."""
    if isinstance(value, dict):
        return {name: each(member, change) for name, member in value.items()}
    if isinstance(value, list):
        return [each(member, change) for member in value]
    return change(value)


# ---- RFC 8785


@mutant(kills="sep2672/4.6-jcs", because=r"canonical form .*\\U0001f600[^§]*another second half")
class SortsByCodePoint(WritesArguments):
    """Sorts members by code point, as most languages sort texts."""

    def write(self, arguments: Any) -> bytes:
        if isinstance(arguments, dict):
            members = (
                rfc8785.dumps(n) + b":" + self.write(v) for n, v in sorted(arguments.items())
            )
            return b"{" + b",".join(members) + b"}"
        if isinstance(arguments, list):
            return b"[" + b",".join(map(self.write, arguments)) + b"]"
        return rfc8785.dumps(arguments)


@mutant(kills="sep2672/4.6-jcs", because="with '1.0' and '1'[^§]*two different second halves")
class AdHocJson(WritesArguments):
    """json.dumps with sorted keys, which is deterministic and not RFC 8785."""

    def write(self, arguments: Any) -> bytes:
        return json.dumps(arguments, sort_keys=True, separators=(",", ":")).encode()


@mutant(
    kills="sep2672/4.6-jcs", because='\'\\{\\"b\\":1,\\"a\\":2\\}\'[^§]*two different second halves'
)
class KeepsTheOrder(WritesArguments):
    """Hashes members in the order in which they came."""

    def write(self, arguments: Any) -> bytes:
        return json.dumps(arguments).encode()


@mutant(
    kills="sep2672/4.6-jcs",
    because="with numbers with a fraction[^§]*argument_hash_mismatch",
)
class CallsByTheLetter(ApprovalGate):
    """Takes 1.0 for something else than 1, at the call only."""

    def step_12_argument_hash(self, attempt: ApprovalAttempt) -> None:
        attempt.arguments = each(attempt.arguments, lambda v: repr(v) if type(v) is float else v)
        super().step_12_argument_hash(attempt)


@mutant(kills="sep2672/4.6-jcs", because="ufb01[^§]*the same second half")
class NormalisesCompatibly(WritesArguments):
    """Normalises texts to NFKC before hashing."""

    def write(self, arguments: Any) -> bytes:
        return super().write(
            each(arguments, lambda v: unicodedata.normalize("NFKC", v) if type(v) is str else v)
        )


@mutant(kills="sep2672/4.6-jcs", because="no such member[^§]*the same second half")
class DropsNullsBeforeHashing(WritesArguments):
    """Leaves members out that are null."""

    def write(self, arguments: Any) -> bytes:
        return super().write({n: v for n, v in arguments.items() if v is not None})


@mutant(kills="sep2672/4.6-jcs", because="'\"1\"' and with '1'[^§]*the same second half")
class WritesNumbersAsText(WritesArguments):
    """Numbers and their texts are alike, as in a form."""

    def write(self, arguments: Any) -> bytes:
        return super().write(each(arguments, lambda v: v if type(v) in (bool, str) else str(v)))


@mutant(kills="sep2672/4.6-jcs", because="'true' and with '1'[^§]*the same second half")
class TruthIsANumber(WritesArguments):
    """true is 1 and false is 0."""

    def write(self, arguments: Any) -> bytes:
        return super().write(each(arguments, lambda v: int(v) if type(v) is bool else v))


@mutant(kills="sep2672/4.6-jcs", because="zero byte|u0000[^§]*the same second half")
class CutsAtZero(WritesArguments):
    """Texts end at their first zero byte, as in C."""

    def write(self, arguments: Any) -> bytes:
        return super().write(
            each(arguments, lambda v: v.partition("\0")[0] if type(v) is str else v)
        )


@mutant(kills="sep2672/4.6-jcs", because="U0001f600[^§]*another second half")
class ReplacesWhatLatin1Lacks(WritesArguments):
    """Characters beyond Latin-1 become question marks."""

    def write(self, arguments: Any) -> bytes:
        return super().write(arguments).decode().encode("latin-1", "replace")


@mutant(kills="sep2672/4.6-jcs", because="__proto__[^§]*the same second half")
class LosesProto(WritesArguments):
    """A member called __proto__ disappears, as in a JavaScript object."""

    def write(self, arguments: Any) -> bytes:
        return super().write(
            {
                n: {k: w for k, w in v.items() if k != "__proto__"} if type(v) is dict else v
                for n, v in arguments.items()
            }
        )


@mutant(kills="sep2672/4.6-jcs", because="0.30000000000000004[^§]*the same second half")
class RoundsNumbers(WritesArguments):
    """Numbers are written with 15 digits."""

    def write(self, arguments: Any) -> bytes:
        return super().write(
            each(arguments, lambda v: float(f"{v:.15g}") if type(v) is float else v)
        )


@mutant(kills="sep2672/4.6-jcs", because="both ran")
class RunsAMemberGivenTwice(ReferenceServer):
    """Without strict JSON at the door, and without the hash: a member given twice runs anyhow."""

    def asgi_app(self, **options: Any) -> Any:
        gate = self.extension("sep2672").gate
        gate.steps = tuple(step for step in gate.steps if "hash" not in step)
        return super().asgi_app(**options).app


@mutant(
    kills="sep2672/4.6-jcs",
    because=r"an honest approval/challenge/create after[^§]*HTTP [0-9]+ without JSON\-RPC",
)
class DiesOfBadJson(ReferenceServer):
    """The first message that is no strict JSON is the last one that is served."""

    def asgi_app(self, **options: Any) -> Any:
        door, dead = super().asgi_app(**options), []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            async def watch(message: Any) -> None:
                if message.get("status") == 400:
                    dead.append(message)
                await send(message)

            if dead and scope["type"] == "http":
                await send({"type": "http.response.start", "status": 503, "headers": []})
                await send({"type": "http.response.body"})
            else:
                await door(scope, receive, watch)

        return app


# ---- the hash


@mutant(kills="sep2672/4.6-hash-construction", because="no separator instead of 00")
class NoSeparators(WritesArguments):
    """Joins the three parts without separators."""

    separator = b""


@mutant(kills="sep2672/4.6-hash-construction", because=r"\\n instead of 00")
class NewlineSeparators(WritesArguments):
    """Joins the three parts with line feeds."""

    separator = b"\n"


@mutant(kills="sep2672/4.6-hash-construction", because="serverId first")
class ServerIdFirst(ApprovalGate):
    """Hashes the serverId before the tool."""

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        canonical = words.canonical_arguments(arguments)
        return hashlib.sha256(b"\0".join((server_id.encode(), tool.encode(), canonical))).digest()


@mutant(kills="sep2672/4.6-hash-construction", because="SHA3-256")
class AnotherHash(WritesArguments):
    """SHA3-256."""

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        parts = (tool.encode(), self.write(arguments), server_id.encode())
        return hashlib.sha3_256(b"\0".join(parts)).digest()


@mutant(kills="sep2672/4.6-hash-construction", because="u003C[^§]*another second half")
class EscapesForHtml(WritesArguments):
    """Writes <, > and & as escapes, as Go's encoder does."""

    def write(self, arguments: Any) -> bytes:
        written = super().write(arguments)
        for character in b"<>&":
            written = written.replace(bytes((character,)), b"\\u%04x" % character)
        return written


# ---- as received


def _with_a_default(gate_class: type[ApprovalGate], options: dict[str, Any]) -> ReferenceServer:
    class WithADefault(Sep2672Extension):
        def offered_tools(self, settings: ApprovalSettings) -> tuple[Tool, ...]:
            return (RESTART_SERVICE, *DEMONSTRATION_TOOLS)

    return having(type("WithADefault", (WithADefault,), {"gate_class": gate_class}), options)


class _FillsIn(ApprovalGate):
    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        filled = {"force": False, **arguments} if tool == RESTART_SERVICE.name else arguments
        return super().hash_of(tool, filled, server_id)


@mutant(
    kills="sep2672/4.6-no-schema-defaults",
    because="default spelled out only at the call[^§]*the same second half",
)
def FillsInDefaults(**options: Any) -> ReferenceServer:  # noqa: N802
    """Validates, and fills the schema's defaults in, before hashing."""
    return _with_a_default(_FillsIn, options)


class _DropsDefaults(ApprovalGate):
    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        kept = {n: v for n, v in arguments.items() if (n, v) != ("force", False)}
        return super().hash_of(tool, kept, server_id)


@mutant(
    kills="sep2672/4.6-no-schema-defaults",
    because="default spelled out only at the challenge[^§]*the same second half",
)
def LeavesDefaultsOut(**options: Any) -> ReferenceServer:  # noqa: N802
    """Leaves members out of the hash that have their default."""
    return _with_a_default(_DropsDefaults, options)


@mutant(kills="sep2672/4.6-no-schema-defaults", because="a number as text[^§]*the same second half")
class CoercesTypes(WritesArguments):
    """Takes '5' for 5 before hashing."""

    def write(self, arguments: Any) -> bytes:
        return super().write(
            each(arguments, lambda v: int(v) if type(v) is str and v.isdigit() else v)
        )


@mutant(
    kills="sep2672/4.6-no-schema-defaults", because="spaces around a text[^§]*the same second half"
)
class TrimsTexts(WritesArguments):
    """Trims texts before hashing."""

    def write(self, arguments: Any) -> bytes:
        return super().write(each(arguments, lambda v: v.strip() if type(v) is str else v))


@mutant(
    kills="sep2672/4.6-no-schema-defaults", because="an unknown member[^§]*the same second half"
)
class StripsUnknownMembers(ApprovalGate):
    """Strips members that the schema does not know before hashing, as zod does."""

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        return super().hash_of(tool, known_members(tool, arguments), server_id)


@mutant(
    kills="sep2672/4.6-no-schema-defaults", because="a list around a value[^§]*the same second half"
)
class UnwrapsListsBeforeHashing(WritesArguments):
    """Takes a list of one for the one, as query strings do."""

    def write(self, arguments: Any) -> bytes:
        return super().write(
            {n: v[0] if type(v) is list and len(v) == 1 else v for n, v in arguments.items()}
        )


@mutant(kills="sep2672/4.6-jcs", because="half a surrogate pair, in a[^§]*result .*challengeId")
class ReplacesHalfAPair(ReferenceServer):
    """Text with half a surrogate pair is read with a replacement character, and hashed so."""

    def asgi_app(self, **options: Any) -> Any:
        door = super().asgi_app(**options)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            async def mended() -> Any:
                message = await receive()
                if message["type"] == "http.request":
                    body = re.sub(rb"\\ud[89a-f][0-9a-f]{2}", rb"\\ufffd", message["body"])
                    message = {**message, "body": body}
                return message

            await door(scope, mended, send)

        return app

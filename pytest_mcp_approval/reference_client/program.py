"""`python -m pytest_mcp_approval.reference_client <target>`: try any server by hand.

Lists the tools and shows which ask, calls them, and asks the person. What a tool of the handshake
or the sessionless era asks for is shown in the same way. Knows no protocol.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from ..families.sep2672.vocabulary import META_KEY, Reason
from .authenticators import RemoteSigner, Signer, VirtualSigner
from .client import CAPABILITIES, ReferenceClient
from .connection import Connection, ServerError
from .opening import SECONDS, transport_to
from .outcomes import Cancelled, Declined, Done, Outcome, Refused, Unknown, Unusable
from .screen import Leaving, Screen, visible
from .transports import BrokenOff, Transport

PROGRAM = "python -m pytest_mcp_approval.reference_client"
_HELP = """call NAME {"argument": ...}   call a tool
list                          the tools, and which of them ask
enroll                        enroll a passkey with this server
quit                          leave"""

IN_WORDS: Mapping[Reason, str] = {
    Reason.MISSING_EVIDENCE: "the approval did not reach the server",
    Reason.UNSUPPORTED_METHOD: "the server does not take this kind of approval",
    Reason.CHALLENGE_UNKNOWN: "the server does not know this approval; ask again",
    Reason.CHALLENGE_CONSUMED: "this approval was used already; ask again",
    Reason.CHALLENGE_EXPIRED: "the approval came too late; ask again and answer sooner",
    Reason.CHALLENGE_WRONG_TOOL: "the approval was for another tool",
    Reason.UNKNOWN_CREDENTIAL: "the server does not know this passkey; enroll it",
    Reason.AUTHENTICATOR_CLASS_MISMATCH: "this tool does not take this kind of passkey",
    Reason.SIGNATURE_VERIFICATION_FAILED: "the signature of the passkey is not right",
    Reason.SIGNATURE_COUNTER_REGRESSION: "the passkey may have been copied: its counter went back",
    Reason.ARGUMENT_HASH_MISMATCH: "what was called is not what was approved",
    Reason.TOOL_NOT_APPROVED_REQUIRED: "this tool needs no approval, says the server",
    Reason.NO_ELIGIBLE_CREDENTIAL: "none of your passkeys is enough for this tool; enroll one",
    Reason.CREDENTIAL_ALREADY_ENROLLED: "this passkey is enrolled already",
    Reason.NO_PENDING_ENROLLMENT: "the enrollment took too long; enroll again",
    Reason.VERIFICATION_FAILED: "the server could not verify the new passkey",
}

ClientClass = Callable[[Connection, Screen, Signer], ReferenceClient]


class Program:
    """One run of the program. The classes of its parts can be replaced, which is how broken
    clients are made."""

    client_class: ClientClass = ReferenceClient
    connection_class: type[Connection] = Connection
    screen_class: type[Screen] = Screen
    capabilities: Mapping[str, Any] = CAPABILITIES

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.options = _parser().parse_args(list(arguments))
        self.environment = os.environ if environment is None else environment
        self.screen = self.screen_class(stdin or sys.stdin, stdout or sys.stdout, self.environment)
        self.connection = self.connection_class(self._transport(), self.capabilities)
        self.client = type(self).client_class(self.connection, self.screen, self._signer())

    def run(self) -> int:
        try:
            self.client.open()
            if self.options.call:
                given = json.loads(self.options.arguments)
                outcome = self.client.call(self.options.call, given)
                self.tell(outcome)
                return 0 if isinstance(outcome, Done) else 1
            self.introduce()
            self.converse()
        except (BrokenOff, ServerError) as error:
            self.screen.say(
                f"no conversation with {' '.join(self.options.target)}: {visible(str(error))}"
            )
            return 2
        except ValueError as error:
            self.screen.say(f"--arguments: no JSON object: {error}")
            return 2
        finally:
            self.connection.close()
        return 0

    # ---- what is shown

    def introduce(self) -> None:
        connection = self.connection
        count = len(self.client.tools)
        self.screen.say(
            f"{visible(connection.server_name)}, MCP {connection.revision}, "
            f"{count} tool{'' if count == 1 else 's'}"
        )
        self.list_tools()

    def list_tools(self) -> None:
        for name, tool in self.client.tools.items():
            gated = self.client.needs_approval(tool)
            self.screen.say(visible(f"  {name:<24} {_asks(tool) if gated else ''}").rstrip())

    def tell(self, outcome: Outcome) -> None:
        """What became of a call, each end in its own words."""
        match outcome:
            case Done(result):
                failed = bool(result.get("isError"))
                self.screen.say(f"{'failed' if failed else 'done':<9} {visible(_shown(result))}")
            case Refused(reason=Reason() as reason):
                self.screen.say(f"refused   {self.reason_in_words(outcome)} ({reason})")
                self.screen.say(f"          the server says: {visible(outcome.message)}")
            case Refused(code, message):
                self.screen.say(f"refused   error {code}: {visible(message)}")
            case Declined():
                self.screen.say("declined  nothing was done")
            case Cancelled():
                self.screen.say("left      without an answer; nothing was done")
            case Unusable(what):
                self.screen.say(f"stopped   {visible(what)}")
            case Unknown(what):
                self.screen.say(f"unknown   no answer came, so it may have run: {visible(what)}")

    def reason_in_words(self, refused: Refused) -> str:
        assert refused.reason is not None
        return IN_WORDS[refused.reason]

    # ---- what the person types

    def converse(self) -> None:
        while True:
            try:
                line = self.screen.ask("mcp> ").strip()
            except Leaving:
                return
            word, _, rest = line.partition(" ")
            if word in ("quit", "exit"):
                return
            if word == "call":
                self._call(rest)
            elif word == "list":
                self.client.list_tools()
                self.list_tools()
            elif word == "enroll":
                self.tell(self.client.enroll())
            elif word:
                self.screen.say(_HELP)

    def _call(self, rest: str) -> None:
        name, _, written = rest.strip().partition(" ")
        if name not in self.client.tools:
            self.screen.say(f"no tool is called {visible(name)!r}; list shows them")
            return
        try:
            arguments = json.loads(written or "{}")
            if not isinstance(arguments, dict):
                raise ValueError("it is no object")
        except ValueError as error:
            self.screen.say(f"arguments: expected a JSON object: {error}")
            return
        self.tell(self.client.call(name, arguments))

    # ---- parts

    def _transport(self) -> Transport:
        words = list(self.options.target)
        pairs = (one.partition(":") for one in self.options.header)
        headers = {name.strip(): value.strip() for name, _, value in pairs}
        target = words[0] if len(words) == 1 else words
        return transport_to(target, headers, self.options.timeout)

    def _signer(self) -> Signer:
        origin, who = self.options.origin, self.options.authenticator
        if who == "page":
            from .passkey_page import PageSigner

            return PageSigner(self.screen.say, self.screen.open)
        if who.startswith("http://"):
            return RemoteSigner(who, origin)
        return VirtualSigner(origin, self.options.passkeys)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=PROGRAM, description="Try an MCP server by hand.")
    parser.add_argument(
        "target", nargs="+", help="http(s)://..., or -- and the command of a stdio server"
    )
    parser.add_argument("--call", metavar="TOOL", help="call this tool, and end")
    parser.add_argument("--arguments", default="{}", metavar="JSON", help="for --call")
    parser.add_argument(
        "--header", action="append", default=[], metavar="'NAME: VALUE'", help="for HTTP"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=SECONDS,
        metavar="SECONDS",
        help=f"how long one answer may take (default: {SECONDS:g})",
    )
    parser.add_argument(
        "--authenticator",
        default="virtual",
        metavar="virtual|page|URL",
        help="who signs: software, a passkey of yours on a local page, or one behind a URL",
    )
    parser.add_argument(
        "--passkeys", type=Path, metavar="FILE", help="where the virtual one keeps its passkeys"
    )
    parser.add_argument(
        "--origin",
        default="http://localhost",
        metavar="URL",
        help="the page that people approve on, which is signed (default: http://localhost)",
    )
    return parser


def _asks(tool: Mapping[str, Any]) -> str:
    annotation = (tool.get("_meta") or {}).get(META_KEY)
    named = annotation.get("authenticatorClass") if isinstance(annotation, Mapping) else None
    return f"asks for a passkey ({named or 'cross-platform'})"


def _shown(result: Mapping[str, Any]) -> str:
    content = result.get("content")
    parts = content if isinstance(content, list) else []
    texts = [str(one["text"]) for one in parts if isinstance(one, Mapping) and "text" in one]
    return "\n".join(texts) or json.dumps(result)


def main(
    arguments: Sequence[str] | None = None,
    *,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    environment: Mapping[str, str] | None = None,
) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    try:
        return Program(given, stdin=stdin, stdout=stdout, environment=environment).run()
    except KeyboardInterrupt:
        return 130

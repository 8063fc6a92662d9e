"""The model of execution tokens: which contents with a token must run, and which must not.

Only over MCP: a command or a callable is not explored.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...target import Target
from ...wire import Reply, Session
from ..base.exploration import EndOfWalk, Exercised
from ..base.message_changes import clearly_another
from ..base.outcome import ObservedOutcome
from ..base.paths import value_at
from ..base.token_exploration import TokenModel
from ..base.token_state import HeldApproval, Misuses
from .driver import ExecutionTokens
from .health import honest_approval
from .mcp_verifier import McpVerifier
from .outcome import ExecutionOutcome

_LIFE = datetime.timedelta(seconds=300)


class ExecutionModel(TokenModel):
    family = "execution_tokens"
    served_rule: ClassVar[str] = "signature"
    rules = Misuses(
        served="signature",
        replayed="nonce-replay",
        expired="expiry",
        changed="content-at-execution",
        forged="signature",
        raced="nonce-race",
        restarted="nonce-restart",
        bare="signature",
        message="signature",
    )

    without = ("withdraw", "swap", "fail_in_tool", "send_failed_again")

    def __init__(self, target: Target, exercised: Exercised | None = None) -> None:
        super().__init__(target, exercised)
        self.after_restart()

    def after_restart(self) -> None:
        self.driver = ExecutionTokens(self.target)
        if not isinstance(self.driver.verifier, McpVerifier):
            raise EndOfWalk("only a verifier that is an MCP server is explored")
        self.verifier = self.driver.verifier
        self.close_later(self.driver.close)

    def honest(self) -> str:
        return honest_approval(self.target)

    def calls(self) -> Sequence[bytes]:
        return [one.encode() for one in self.driver.table.contents]

    def issue(self, call: bytes, session: Session | None = None) -> HeldApproval:
        del session
        token = self.driver.token(content=call, lives=_LIFE)
        end = self.driver.now() + _LIFE
        shorter = self.driver.secret is None  # an arbiter may give a shorter lifetime
        return HeldApproval((token, call), call.decode(), 0, end, None if shorter else end)

    def _ask(self, token: Any, content: bytes, **more: Any) -> ObservedOutcome:
        return self.driver.execute(token, content=content, **more)

    def redeem(self, approved: HeldApproval, session: Session | None = None) -> ObservedOutcome:
        token, content = approved.thing
        if session is None:
            return self._ask(token, content)
        other = McpVerifier(self.target, self.driver.table, session)
        return other.ask(self.driver.request(token, content=content))

    def changed(
        self, approved: HeldApproval
    ) -> Sequence[tuple[str, Callable[[], ObservedOutcome]]]:
        token, content = approved.thing
        ways: list[tuple[str, Callable[[], ObservedOutcome]]] = [
            ("with another content", lambda one=one: self._ask(token, one))  # type: ignore[misc]
            for one in self.calls()
            if one != content
        ]
        if self.verifier.takes("action"):
            ways.append(("with another action", lambda: self._ask(token, content, action="other")))
        return ways

    def forged(self, approved: HeldApproval) -> Sequence[tuple[str, Callable[[], ObservedOutcome]]]:
        token, content = approved.thing
        names = self.driver.table.names
        signature = str(token[names["signature"]])
        flipped = f"{signature[:-1]}{'0' if signature[-1] != '0' else '1'}"
        fresh = self.driver.now() + datetime.timedelta(days=1)
        ways = {
            "another signature": {names["signature"]: flipped},
            "half of the signature": {names["signature"]: signature[: len(signature) // 2]},
            "an empty signature": {names["signature"]: ""},
            "a later end": {names["expires_at"]: fresh.isoformat()},
            "another nonce": {names["nonce"]: "00000000-0000-4000-8000-000000000001"},
            "another id": {names["token_id"]: "00000000-0000-4000-8000-000000000002"},
        }
        return [
            (what, lambda change=change: self._ask({**token, **change}, content))  # type: ignore[misc]
            for what, change in ways.items()
        ]

    def bare(self, call: bytes) -> ObservedOutcome:
        return self._ask({}, call)

    def honest_params(self, approved: HeldApproval) -> dict[str, Any]:
        token, content = approved.thing
        return self.verifier.params(self.driver.request(token, content=content))

    def is_another(self, honest: Any, changed: Any) -> bool:
        """By its content alone: unsigned members allow nothing, and may say anything."""
        place = f"arguments.{self.driver.table.arguments['content']}"
        return clearly_another(value_at(honest, place), value_at(changed, place))

    def observe(self, approved: HeldApproval, act: Callable[[], Reply]) -> ObservedOutcome:
        del approved
        (reply,), runs = self.runs_during(lambda: [self.answered(act())])
        ran = self.verifier._ran(runs)
        if not reply.answered:  # an error that could not be put under an id
            return ExecutionOutcome(False, reply.describe(), ran=ran)
        return self.verifier._answer(reply, ran)

    def runs_during(self, act: Callable[[], list[Reply]]) -> tuple[list[Reply], int | None]:
        return self.verifier._watch.runs_during(act)

    def succeeded(self, approved: HeldApproval, reply: Reply) -> bool:
        del approved
        return reply.answered and self.verifier._answer(reply, None).accepted


MODEL = ExecutionModel

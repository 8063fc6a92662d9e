"""The model of execution tokens: which contents with a token must run, and which must not.

A verifier that is a command or a callable is asked as scenarios ask it. It has no conversations, no
users and no replicas, and what is changed on its way is the token alone. A callable is restarted by
importing it again; a command starts anew for every question anyway.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ...support.json_reading import JsonError, read_json
from ...target import Target
from ...wire import Reply, Session
from ...wire.messages import to_json
from ..base.exploration import Exercised
from ..base.message_changes import CannotChangeError, change_body, change_params, clearly_another
from ..base.outcome import ObservedOutcome
from ..base.paths import value_at
from ..base.token_exploration import TokenModel
from ..base.token_state import HeldApproval, Misuses
from ..base.token_uses import RacedAnswer
from .driver import ExecutionTokens
from .health import honest_approval
from .mcp_verifier import McpVerifier
from .outcome import ExecutionOutcome
from .verifier_access import ExecutionRequest, Verifier

_DEEPEST = 100
"""Of nesting in a token for a verifier in this process, whose recursion Hypothesis limits."""
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
        self._open()

    def _open(self) -> None:
        self.driver = ExecutionTokens(self.target)
        self.close_later(self.driver.close)

    def after_restart(self) -> None:
        # The log of nonces of what is no server lies in the driver's own folder.
        if self.target.speaks_mcp:
            self._open()

    def restart_target(self, restart: Callable[[], None] | None = None) -> None:
        if self.target.speaks_mcp:
            super().restart_target(restart)
        else:
            self.take_time(self.verifier.restart)

    @property
    def verifier(self) -> Verifier:
        return self.driver.verifier

    @property
    def server(self) -> McpVerifier:
        assert isinstance(self.verifier, McpVerifier)
        return self.verifier

    @property
    def can_restart(self) -> bool:
        restarts = self.target.speaks_mcp or self.verifier.in_this_process
        return restarts and super().can_restart

    @property
    def can_go_elsewhere(self) -> bool:
        return self.target.speaks_mcp and super().can_go_elsewhere

    @property
    def can_change_replica(self) -> bool:
        return self.target.speaks_mcp and super().can_change_replica

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

    # ---- at once, and changed on the way

    def _request(self, approved: HeldApproval) -> ExecutionRequest:
        token, content = approved.thing
        return self.driver.request(token, content=content)

    def send_together(self, sent: Sequence[HeldApproval]) -> tuple[list[RacedAnswer], int | None]:
        if self.target.speaks_mcp:
            return super().send_together(sent)
        requests = {id(one): self._request(one) for one in sent}
        answers = self.verifier.ask_at_once([requests[id(one)] for one in sent])
        raced = [RacedAnswer(one.accepted, one.describe(), one.reply) for one in answers]
        return raced, answers[0].runs

    def send_changed(
        self, approved: HeldApproval, change: Mapping[str, Any]
    ) -> tuple[str, ObservedOutcome, bool] | None:
        if self.target.speaks_mcp:
            return super().send_changed(approved, change)
        changed = self._changed_token(approved.thing[0], change)
        if changed is None:
            return None
        text, words = changed
        # Its content is the same, and unsigned members allow nothing: so it is no other call.
        return f"its token: {words}", self._ask(text, approved.thing[1]), False

    def _changed_token(
        self, token: Mapping[str, Any], change: Mapping[str, Any]
    ) -> tuple[bytes, str] | None:
        honest = to_json(dict(token))
        if change.get("kind") == "body":
            text, words = change_body(honest, change)
            return None if text == honest else (text, words)
        most = {"deepest": _DEEPEST} if self.verifier.in_this_process else {}
        try:
            changed = change_params(dict(token), change, **most)
        except CannotChangeError:
            return None
        text = to_json(changed.params)
        try:
            same = read_json(text) == token and not changed.ambiguous
        except (JsonError, RecursionError):
            same = False
        return None if same else (text, changed.words)

    def honest_params(self, approved: HeldApproval) -> dict[str, Any]:
        return self.server.params(self._request(approved))

    def is_another(self, honest: Any, changed: Any) -> bool:
        """By its content alone: unsigned members allow nothing, and may say anything."""
        place = f"arguments.{self.driver.table.arguments['content']}"
        return clearly_another(value_at(honest, place), value_at(changed, place))

    def observe(self, approved: HeldApproval, act: Callable[[], Reply]) -> ObservedOutcome:
        del approved
        (reply,), runs = self.runs_during(lambda: [self.answered(act())])
        ran = self.server._ran(runs)
        if not reply.answered:  # an error that could not be put under an id
            return ExecutionOutcome(False, reply.describe(), ran=ran)
        return self.server._answer(reply, ran)

    def runs_during(self, act: Callable[[], list[Reply]]) -> tuple[list[Reply], int | None]:
        return self.server._watch.runs_during(act)

    def succeeded(self, approved: HeldApproval, reply: Reply) -> bool:
        del approved
        return reply.answered and self.server._answer(reply, None).accepted


MODEL = ExecutionModel

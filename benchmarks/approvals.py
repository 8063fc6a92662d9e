"""Approvals of four gates, for load: how one is made, how it is used, and how it is forged.

What runs is noted in a file that outlives the process, one line for each run. Knows no processes
and no figures.
"""

from __future__ import annotations

import datetime
import os
import uuid
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from pytest_mcp_approval.families.confirmation_tokens.vocabulary import Danger
from pytest_mcp_approval.families.sep2672.vocabulary import META_KEY
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import AdapterOperation
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import (
    ConfirmationSettings,
    RateLimit,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.store import TokenStore
from pytest_mcp_approval.reference_server.execution_tokens.gate import TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter, Operator
from pytest_mcp_approval.reference_server.execution_tokens.refusals import ExecutionRefusal
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore
from pytest_mcp_approval.reference_server.prepare_confirm.back_end import BackEnd
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OPERATIONS,
    OperationOutcome,
)
from pytest_mcp_approval.reference_server.prepare_confirm.settings import read_settings
from pytest_mcp_approval.reference_server.prepare_confirm.store import PreparationStore
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import GatedTool
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.sep2672.relying_party import RelyingParty
from pytest_mcp_approval.reference_server.sep2672.store import ApprovalStore
from pytest_mcp_approval.reference_server.server.clock import Clock, SystemClock
from pytest_mcp_approval.reference_server.server.effects import RecordedEffects
from virtual_authenticator import AlwaysZero, Authenticator

USER = "somebody"
ORIGIN = "http://localhost"
_WIDE = RateLimit(1_000_000_000)
_BEGINNING = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


class Runs:
    """A file with a line for each run: one write at its end, which no other process splits."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def note(self, what: str) -> None:
        os.write(self._handle, f"{what}\n".encode())

    def close(self) -> None:
        os.close(self._handle)


class Approvals(ABC):
    """One gate over one store. An approval is picklable: it is used in other processes."""

    family: ClassVar[str]
    refusals: ClassVar[tuple[type[Exception], ...]]
    store: Any

    @abstractmethod
    def __init__(self, url: str | None, runs: Runs, clock: Clock | None = None) -> None: ...

    @abstractmethod
    def approve(self) -> tuple[str, Any]:
        """A new approval: the name that its run is noted by, and what a caller sends."""

    @abstractmethod
    def use(self, approval: Any) -> bool:
        """Whether it was accepted; it has run then, and was noted."""

    @abstractmethod
    def forged(self, approval: Any) -> Any:
        """The same for something else, or by somebody else."""

    def close(self) -> None:
        self.store.close()


class Passkeys(Approvals):
    """SEP-2672."""

    family = "sep2672"
    refusals = (ApprovalRefusal,)

    def __init__(self, url: str | None, runs: Runs, clock: Clock | None = None) -> None:
        self.store = ApprovalStore(url)
        self.runs = runs
        self.gate = ApprovalGate(
            tools=[GatedTool("trade", lambda arguments: f"Trade {arguments['id']}")],
            store=self.store,
            clock=clock or SystemClock(),
            relying_party=RelyingParty(origins=[ORIGIN]),
            challenge_ttl=600,
        )
        self._passkey: Authenticator | None = None
        self._user = f"{USER} {uuid.uuid4()}"

    def _key(self) -> Authenticator:
        if self._passkey is None:
            # Without a counter, which could hide that a challenge serves twice.
            self._passkey = Authenticator(counter=AlwaysZero())
            options = self.gate.begin_enrolment(self._user)["options"]
            self.gate.finish_enrolment(self._user, self._passkey.create(options, ORIGIN))
        return self._passkey

    def approve(self) -> tuple[str, Any]:
        passkey, name = self._key(), str(uuid.uuid4())
        arguments = {"id": name}
        made = self.gate.create_challenge(self._user, "trade", arguments)
        evidence = {
            "method": "webauthn",
            "challengeId": made["challengeId"],
            "response": passkey.get(made["requestOptions"], ORIGIN),
        }
        return name, (self._user, arguments, evidence)

    def use(self, approval: Any) -> bool:
        user, arguments, evidence = approval
        try:
            self.gate.verify(user, "trade", arguments, {META_KEY: evidence})
        except self.refusals:
            return False
        self.runs.note(arguments["id"])
        return True

    def forged(self, approval: Any) -> Any:
        user, arguments, evidence = approval
        return user, {**arguments, "more": True}, evidence


class Confirmations(Approvals):
    family = "confirmation_tokens"
    refusals = (TokenRefusal,)

    def __init__(self, url: str | None, runs: Runs, clock: Clock | None = None) -> None:
        self.store = TokenStore(url)
        self.runs = runs
        operation = AdapterOperation("drop", Danger.DESTRUCTIVE, self._run)
        self.gate = ConfirmationGate(
            [operation],
            store=self.store,
            clock=clock or SystemClock(),
            settings=ConfirmationSettings(
                issue_limit=_WIDE, failure_limit=_WIDE, revocation_limit=_WIDE
            ),
        )

    def _run(self, params: Any) -> dict[str, Any]:
        self.runs.note(params["id"])
        return {}

    def approve(self) -> tuple[str, Any]:
        name = str(uuid.uuid4())
        try:
            self.gate.perform("drop", {"id": name}, user=USER)
        except TokenRefusal as refusal:
            return name, {"id": name, "confirmation_token": refusal.details["confirmation_token"]}
        raise AssertionError("not gated")

    def use(self, approval: Any) -> bool:
        try:
            self.gate.perform("drop", approval, user=USER)
        except self.refusals:
            return False
        return True

    def forged(self, approval: Any) -> Any:
        return {**approval, "id": "another"}


class Executions(Approvals):
    family = "execution_tokens"
    refusals = (ExecutionRefusal,)

    def __init__(self, url: str | None, runs: Runs, clock: Clock | None = None) -> None:
        secret = b"a secret of the load driver, 16+"
        self.store = NonceStore(url)
        self.runs = runs
        now = (clock or SystemClock()).now
        self.arbiter = Arbiter(secret, now)
        self.operator = Operator(TokenVerifier(secret, self.store, now))

    def approve(self) -> tuple[str, Any]:
        name = str(uuid.uuid4())
        return name, (self.arbiter.approve(name.encode(), "exec", []).to_json(), name)

    def use(self, approval: Any) -> bool:
        token, name = approval
        try:
            self.operator.execute(token, name.encode(), "exec", lambda _: self.runs.note(name))
        except self.refusals:
            return False
        return True

    def forged(self, approval: Any) -> Any:
        token, _ = approval
        return token, "another"


class _NotedEffects(RecordedEffects):
    """Keeps nothing: the file has all."""

    def __init__(self, runs: Runs) -> None:
        super().__init__()
        self._runs = runs
        self.current = ""

    def record(self, tool: str, arguments: Any) -> dict[str, Any]:
        del tool, arguments
        self._runs.note(self.current)
        return {}


class Previews(Approvals):
    """Prepare and confirm."""

    family = "prepare_confirm"
    refusals = ()

    def __init__(self, url: str | None, runs: Runs, clock: Clock | None = None) -> None:
        self.store = PreparationStore(url, _BEGINNING)
        self.effects = _NotedEffects(runs)
        settings = read_settings({"secret_key": "a key of the load driver"})
        self.operation = next(one for one in OPERATIONS if one.name == "close_projects")
        self.gate = _ByIds(
            clock or SystemClock(), self.store, BackEnd(self.store, self.effects), settings
        )

    def approve(self) -> tuple[str, Any]:
        name = str(uuid.uuid4())
        preview = self.gate.prepare(self.operation, {"project_ids": ["proj-1"]}, USER)
        return name, (name, {"confirmation_token": preview["confirmation_token"]})

    def use(self, approval: Any) -> bool:
        self.effects.current, token = approval
        done = self.gate.confirm(self.operation, token, USER)
        return done["success"] is True

    def forged(self, approval: Any) -> Any:
        name, token = approval
        text = token["confirmation_token"]
        last = "A" if text[-1] != "A" else "B"
        return name, {"confirmation_token": text[:-1] + last}


class _ByIds(PreparationGate):
    """Runs whatever is confirmed: nothing but the token stands against a second run."""

    def execute(self, operation: Any, payload: Any, arguments: Any) -> Any:
        del operation, payload, arguments
        self.back_end.effects.record("close_projects", {})
        return OperationOutcome(done=["proj-1"])


KINDS: dict[str, type[Approvals]] = {
    one.family: one for one in (Passkeys, Confirmations, Executions, Previews)
}

"""A user with software authenticators in front of a gate, without any transport between them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pytest_mcp_approval.families.sep2672.vocabulary import META_KEY, AuthenticatorClass
from pytest_mcp_approval.reference_server import (
    ApprovalGate,
    ApprovalRefusal,
    ApprovalStore,
    GatedTool,
    RelyingParty,
    SettableClock,
)
from virtual_authenticator import Authenticator

ORIGIN = "http://localhost"
ALICE = "alice"
ARGUMENTS = {"symbol": "AAPL", "quantity": 10}
TOOLS = (
    GatedTool(
        "trade",
        lambda arguments: f"Trade {arguments['symbol']}",
        AuthenticatorClass.CROSS_PLATFORM,
    ),
    GatedTool("transfer", lambda _: "Transfer"),
    GatedTool("wipe", lambda _: "Wipe", AuthenticatorClass.PLATFORM),
)


class Ceremony:
    """What a client does, step by step; every step can be done wrong."""

    def __init__(
        self,
        store: ApprovalStore | None = None,
        gate_class: type[ApprovalGate] = ApprovalGate,
        relying_party: RelyingParty | None = None,
        **options: Any,
    ) -> None:
        self.store = store or ApprovalStore()
        self.clock = SettableClock()
        self.gate = gate_class(
            tools=TOOLS,
            store=self.store,
            clock=self.clock,
            relying_party=relying_party or RelyingParty(origins=[ORIGIN]),
            **options,
        )

    def register(
        self, passkey: Authenticator, user: str = ALICE, origin: str = ORIGIN, **how: Any
    ) -> dict[str, Any]:
        """A registration response, not yet sent."""
        return passkey.create(self.gate.begin_enrolment(user)["options"], origin, **how)

    def enrol(self, shape: Any = "security-key", user: str = ALICE, **how: Any) -> Authenticator:
        passkey = shape if isinstance(shape, Authenticator) else Authenticator(shape)
        self.gate.finish_enrolment(user, self.register(passkey, user, **how))
        return passkey

    def challenge(
        self, tool: str = "trade", arguments: Any = ARGUMENTS, user: str = ALICE
    ) -> dict[str, Any]:
        return self.gate.create_challenge(user, tool, arguments)

    def evidence(
        self, passkey: Authenticator, challenge: dict[str, Any], origin: str = ORIGIN, **how: Any
    ) -> dict[str, Any]:
        options = copy.deepcopy(challenge["requestOptions"])
        return {
            "method": "webauthn",
            "challengeId": challenge["challengeId"],
            "response": passkey.get(options, origin, **how),
        }

    def call(
        self, evidence: Any, tool: str = "trade", arguments: Any = ARGUMENTS, user: str = ALICE
    ) -> Any:
        return self.gate.verify(user, tool, arguments, {META_KEY: evidence})

    def refused(self, evidence: Any, **call: Any) -> str:
        """The reason for which the call is refused; it must be refused."""
        with pytest.raises(ApprovalRefusal) as caught:
            self.call(evidence, **call)
        assert caught.value.to_error()["code"] == -32001
        assert caught.value.message
        return caught.value.reason.value

    def refused_enrolment(self, response: Any, user: str = ALICE) -> str:
        with pytest.raises(ApprovalRefusal) as caught:
            self.gate.finish_enrolment(user, response)
        return caught.value.reason.value

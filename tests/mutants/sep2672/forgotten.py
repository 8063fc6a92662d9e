"""Servers that forget too soon, or remember what is not true any more."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from pytest_mcp_approval.families.sep2672.vocabulary import AuthenticatorClass, Reason
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    CredentialRecord,
    GatedTool,
)
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from tests.mutants.memory import set_counter
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import challenges, enrolments

ONCE = "sep2672/8.2.3-exactly-once"


class _RemembersUseItself(ApprovalGate):
    """Keeps in a list of its own which challenges were used, in one place for all replicas."""

    def used(self) -> OrderedDict[str, bool]:
        found: OrderedDict[str, bool] = vars(self.store).setdefault("_used", OrderedDict())
        return found

    def step_05_challenge_unconsumed(self, attempt: ApprovalAttempt) -> None:
        record = self.challenge_of(attempt)
        if record.challenge_id not in self.used():
            challenges(self).change(record.challenge_id, consumed_at=None)
            attempt.challenge = None
        super().step_05_challenge_unconsumed(attempt)

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        super().step_13_consume(attempt)
        self.used()[self.challenge_of(attempt).challenge_id] = True


@mutant(kills=ONCE, because="a result, tool run")
class ForgetsUseWhenAskedAgain(_RemembersUseItself):
    """Forgets that a challenge was used when another one for the same call is issued."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        made = super().create_challenge(user, tool, arguments)
        issued = self.store.challenge(made["challengeId"])
        assert issued is not None
        for one in challenges(self).find({"action_hash": issued.action_hash}):
            self.used().pop(one.challenge_id, None)
        return made


@mutant(kills=ONCE, because="a result, tool run")
class ForgetsUseWhenAnotherIsUsed(_RemembersUseItself):
    """Remembers one used challenge for each tool: the last."""

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        tool = self.challenge_of(attempt).tool
        for one in challenges(self).find({"tool": tool}):
            self.used().pop(one.challenge_id, None)
        super().step_13_consume(attempt)


@mutant(kills=ONCE, because="a result, tool run")
class ForgetsUseAfterAReplay(_RemembersUseItself):
    """Forgets that a challenge was used as soon as it has refused a replay."""

    def step_05_challenge_unconsumed(self, attempt: ApprovalAttempt) -> None:
        try:
            super().step_05_challenge_unconsumed(attempt)
        finally:
            self.used().pop(self.challenge_of(attempt).challenge_id, None)


@mutant(kills="sep2672/4.8-14-counter-updated", because="a result, tool run")
class RemembersCredentials(ApprovalGate):
    """Remembers a credential when it first sees it, with the counter that it had then."""

    def credential_of(self, attempt: ApprovalAttempt) -> CredentialRecord:
        known: dict[bytes, CredentialRecord] = vars(self.store).setdefault("_known", {})
        found = super().credential_of(attempt)
        attempt.credential = known.setdefault(found.credential_id, found)
        return attempt.credential

    def step_14_update_counter(self, attempt: ApprovalAttempt) -> None:
        set_counter(self.store, self.credential_of(attempt).credential_id, attempt.counter)


@mutant(kills="sep2672/4.4.3-allow-credentials", because="none of them")
class RemembersTheOffer(ApprovalGate):
    """Remembers what it offered a user for a tool, and does not offer what was enrolled since."""

    def eligible_credentials(self, user: str, tool: Any) -> list[CredentialRecord]:
        known: dict[Any, list[CredentialRecord]] = vars(self.store).setdefault("_known", {})
        if (user, tool.name) not in known:
            known[user, tool.name] = super().eligible_credentials(user, tool)
        return known[user, tool.name]


@mutant(kills="sep2672/4.4.3-wire-challenge", because="the same second half in both")
class RemembersHashesByTheirArguments(ApprovalGate):
    """Remembers action hashes by the arguments, and forgets that the tool belongs to them."""

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        known: dict[str, bytes] = vars(self.store).setdefault("_known", {})
        made = super().hash_of(tool, arguments, server_id)
        return known.setdefault(repr(arguments), made)


@mutant(kills="sep2672/4.4.3-display-text", because="always .Buy")
class RemembersTexts(ApprovalGate):
    """Remembers what it shows by the tool and the names of the arguments."""

    def display_text(self, tool: Any, arguments: Any) -> str:
        known: dict[Any, str] = vars(self.store).setdefault("_known", {})
        return known.setdefault((tool.name, *arguments), super().display_text(tool, arguments))


@mutant(
    kills="sep2672/4.8-04-challenge-known", because="pending challenges: .*unknown", warned=True
)
class KeepsAHundredChallenges(ApprovalGate):
    """Keeps the latest hundred pending challenges, and forgets older ones before their time."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        made = super().create_challenge(user, tool, arguments)
        for one in challenges(self).find({"consumed_at": None})[:-100]:
            challenges(self).remove(one.challenge_id)
        return made


@mutant(kills=ONCE, because="a result, tool run")
class RemembersTenUses(_RemembersUseItself):
    """Remembers the latest ten challenges that were used."""

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        super().step_13_consume(attempt)
        while len(self.used()) > 10:
            self.used().popitem(last=False)


@mutant(kills="sep2672/4.4.2-no-pending", because='"success":true')
class ForgetsUsedEnrolmentsAtTheNextBegin(ApprovalGate):
    """Forgets with every begin which registration challenges were used."""

    def begin_enrolment(self, user: str) -> dict[str, Any]:
        enrolments(self).change_all({"user": user}, consumed_at=None)
        return super().begin_enrolment(user)


@mutant(kills="sep2672/4.7-platform-accepts-all", because="for place_trade: True")
class RemembersWhatIsEligible(ApprovalGate):
    """Remembers whether a credential was eligible, and forgets for which class."""

    def satisfies_class(self, credential: CredentialRecord, wanted: AuthenticatorClass) -> bool:
        known: dict[bytes, bool] = vars(self.store).setdefault("_eligible", {})
        found = super().satisfies_class(credential, wanted)
        return known.setdefault(credential.credential_id, found)


@mutant(kills="sep2672/4.8-08-credential-enrolled", because='"reason":"unknown_credential"')
class RemembersUnknownCredentials(ApprovalGate):
    """Remembers which credentials it did not know, also once they are enrolled."""

    def credential_of(self, attempt: ApprovalAttempt) -> CredentialRecord:
        unknown: set[str] = vars(self.store).setdefault("_unknown", set())
        claimed = str(attempt.evidence["response"].get("id"))
        if claimed in unknown:
            raise ApprovalRefusal(Reason.UNKNOWN_CREDENTIAL, "response.id: not known")
        try:
            return super().credential_of(attempt)
        except ApprovalRefusal:
            unknown.add(claimed)
            raise


@mutant(
    kills="sep2672/4.4.3-no-eligible-credential",
    because='"reason":"no_eligible_credential"',
)
class RemembersThatNothingIsEligible(ApprovalGate):
    """Remembers for a tool that nothing is eligible, also once something is enrolled."""

    def eligible_credentials(self, user: str, tool: GatedTool) -> list[CredentialRecord]:
        without: set[tuple[str, str]] = vars(self.store).setdefault("_without", set())
        if (user, tool.name) in without:
            raise ApprovalRefusal(Reason.NO_ELIGIBLE_CREDENTIAL, "credentials: got none")
        try:
            return super().eligible_credentials(user, tool)
        except ApprovalRefusal:
            without.add((user, tool.name))
            raise


@mutant(kills="sep2672/4.8-14-counter-updated", because="a result, tool run")
class ANewCredentialResetsTheOthers(ApprovalGate):
    """Writes all credentials of a user anew with each one, with their counters of the enrolment."""

    def keep_credential(self, credential: CredentialRecord) -> None:
        super().keep_credential(credential)
        enrolled: dict[bytes, int] = vars(self.store).setdefault("_enrolled", {})
        enrolled[credential.credential_id] = credential.counter
        for one in self.store.credentials(credential.user):
            set_counter(self.store, one.credential_id, enrolled[one.credential_id])

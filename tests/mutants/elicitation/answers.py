"""Servers that take something else for a yes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.elicitation.vocabulary import Action
from pytest_mcp_approval.reference_server.elicitation.forms import ContentError, QuestionForm
from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import ElicitationQuestion, GatedCall
from pytest_mcp_approval.reference_server.elicitation.refusals import RefusalReason
from pytest_mcp_approval.reference_server.elicitation.sealing import Sealer
from tests.mutants.elicitation.parts import HANDSHAKE, RAN, in_extension
from tests.mutants.registry import mutant

DECLINE = "elicitation/decline"
CANCEL = "elicitation/cancel"
WITHOUT_YES = "elicitation/accept-without-yes"
UNKNOWN_ACTION = "elicitation/unknown-action"
SCHEMA = "elicitation/response-schema"
UNASKED = "elicitation/unasked-answers"
MISSING = "elicitation/missing-answers"
MALFORMED = "elicitation/malformed-answers"


# ---- actions


class _LooksAtContent(ElicitationGate):
    """Goes by the content of the form, and not by what the person did with it."""

    def read_action(self, call: GatedCall, response: Any) -> Action:
        action = super().read_action(call, response)
        return Action.ACCEPT if response.get("content") else action


@mutant(kills=DECLINE, because=RAN)
@in_extension
class LooksAtContentAlone(_LooksAtContent):
    """Goes by the content of the form, and not by what the person did with it."""


@mutant(kills=DECLINE, because=RAN, protocol=HANDSHAKE, timeout=2.0)
@in_extension
class LooksAtContentAloneInside(_LooksAtContent):
    """The same in an open call."""


@mutant(kills=DECLINE, because=RAN)
@in_extension
class TakesADeclineForASkip(ElicitationGate):
    """Takes a decline for "I do not want to be asked", and goes on."""

    def answered(self, call: GatedCall, question: ElicitationQuestion, response: Any) -> Any:
        if response == {"action": "decline"}:
            return self.run_once(call, question)
        return super().answered(call, question, response)


@mutant(kills=CANCEL, because=RAN)
@in_extension
class LooksForADeclineOnly(ElicitationGate):
    """Stops on a decline; to cancel is to leave everything as it was filled in."""

    def read_action(self, call: GatedCall, response: Any) -> Action:
        action = super().read_action(call, response)
        return Action.ACCEPT if action is Action.CANCEL and "content" in response else action


@mutant(kills=CANCEL, because=RAN, protocol=HANDSHAKE)
@in_extension
class TakesACancelForTheDefault(ElicitationGate):
    """A form that was closed counts with its default answer, inside a call."""

    def answered(self, call: GatedCall, question: ElicitationQuestion, response: Any) -> Any:
        if isinstance(response, Mapping) and response.get("action") == "cancel":
            return self.run_once(call, question)
        return super().answered(call, question, response)


class _AllButNo(ElicitationGate):
    def read_action(self, call: GatedCall, response: Any) -> Action:
        said = response.get("action") if isinstance(response, Mapping) else None
        return Action(said) if said in ("decline", "cancel") else Action.ACCEPT


@mutant(kills=UNKNOWN_ACTION, because=RAN)
@in_extension
class TakesAllButANo(_AllButNo):
    """Every action that is neither decline nor cancel counts as accept."""


@mutant(kills=UNKNOWN_ACTION, because=RAN, protocol=HANDSHAKE, timeout=2.0)
@in_extension
class TakesAllButANoInside(_AllButNo):
    """The same in an open call."""


@mutant(kills=UNKNOWN_ACTION, because=RAN)
@in_extension
class FoldsTheAction(ElicitationGate):
    """Reads the action whatever its case and the blanks around it."""

    def read_action(self, call: GatedCall, response: Any) -> Action:
        if isinstance(response, Mapping) and isinstance(response.get("action"), str):
            response = {**response, "action": response["action"].strip().lower()}
        return super().read_action(call, response)


@mutant(kills=UNKNOWN_ACTION, because=RAN, protocol=HANDSHAKE, timeout=2.0)
@in_extension
class ReadsTheBeginningOfAnAction(ElicitationGate):
    """Whatever begins with accept is one, such as "accepted"."""

    def read_action(self, call: GatedCall, response: Any) -> Action:
        if isinstance(response, Mapping) and str(response.get("action")).startswith("accept"):
            return Action.ACCEPT
        return super().read_action(call, response)


@mutant(kills=UNKNOWN_ACTION, because=RAN)
@in_extension
class TakesAListOfActions(ElicitationGate):
    """Looks whether accept is in the action: it may be a list as well."""

    def read_action(self, call: GatedCall, response: Any) -> Action:
        said = response.get("action") if isinstance(response, Mapping) else None
        if isinstance(said, list) and "accept" in said:
            return Action.ACCEPT
        return super().read_action(call, response)


@mutant(kills=UNKNOWN_ACTION, because=RAN, protocol=HANDSHAKE, timeout=2.0)
@in_extension
class AcceptsWithoutAnAction(ElicitationGate):
    """An answer that has content and no action was accepted, else there would be no content."""

    def read_action(self, call: GatedCall, response: Any) -> Action:
        if isinstance(response, Mapping) and response.get("action") is None:
            return Action.ACCEPT
        return super().read_action(call, response)


# ---- content


class _Truthy(QuestionForm):
    """Whatever Python takes for true is a yes."""

    def check_value(self, content: Mapping[str, Any]) -> None:
        """Nothing."""

    def approves(self, content: Mapping[str, Any]) -> bool:
        return not self.member or (bool(content[self.member]) and content[self.member] != "reject")


@mutant(kills=WITHOUT_YES, because=RAN)
@in_extension
class TakesWhatIsTruthy(_Truthy):
    """Whatever Python takes for true is a yes: the text "false" as well."""


@mutant(kills=WITHOUT_YES, because=RAN, protocol=HANDSHAKE)
@in_extension
class TakesWhatIsTruthyInside(_Truthy):
    """The same in an open call."""


@mutant(kills=WITHOUT_YES, because="a yes in another spelling", warned=True)
@in_extension
class TakesOneForTrue(QuestionForm):
    """Compares with ==, by which 1 and 1.0 are true."""

    def check_value(self, content: Mapping[str, Any]) -> None:
        if content[self.member] not in (0, 1):
            super().check_value(content)


@mutant(kills=WITHOUT_YES, because=RAN)
@in_extension
class MissingIsYes(QuestionForm):
    """A member that is missing has its default, and that is yes."""

    def check_members(self, content: Mapping[str, Any]) -> None:
        if content:
            super().check_members(content)

    def check_value(self, content: Mapping[str, Any]) -> None:
        if content:
            super().check_value(content)

    def approves(self, content: Mapping[str, Any]) -> bool:
        return not content or super().approves(content)


@mutant(kills=WITHOUT_YES, because=RAN, protocol=HANDSHAKE)
@in_extension
class AcceptIsEnough(ElicitationGate):
    """An accept without content approves, whatever the form asks for."""

    def approves(self, call: GatedCall, response: Mapping[str, Any]) -> bool:
        return response.get("content") is None or super().approves(call, response)


@mutant(kills=WITHOUT_YES, because=RAN)
@in_extension
class NeverReadsTheForm(ElicitationGate):
    """Takes the accept for the yes, and does not look at the box."""

    def approves(self, call: GatedCall, response: Mapping[str, Any]) -> bool:
        return True


@mutant(kills=WITHOUT_YES, because=RAN, protocol=HANDSHAKE)
@in_extension
class NeverReadsTheFormInside(ElicitationGate):
    """The same in an open call."""

    def approves(self, call: GatedCall, response: Mapping[str, Any]) -> bool:
        return True


@mutant(kills=WITHOUT_YES, because=RAN)
@in_extension
class TakesNullForUnchanged(QuestionForm):
    """A null says that the member stays as it was: approving."""

    def check_value(self, content: Mapping[str, Any]) -> None:
        if content[self.member] is not None:
            super().check_value(content)

    def approves(self, content: Mapping[str, Any]) -> bool:
        return (bool(self.member) and content[self.member] is None) or super().approves(content)


@mutant(kills=WITHOUT_YES, because=RAN)
@in_extension
class LooksDeeper(QuestionForm):
    """Finds a yes anywhere in the value: in a list, or in an object."""

    def check_value(self, content: Mapping[str, Any]) -> None:
        if not isinstance(content[self.member], (list, dict)):
            super().check_value(content)

    def approves(self, content: Mapping[str, Any]) -> bool:
        value = content.get(self.member)
        if isinstance(value, (list, dict)):
            return str(self.yes) in str(value)
        return super().approves(content)


@mutant(kills=SCHEMA, because=RAN)
@in_extension
class TakesExtraMembers(QuestionForm):
    """Forbids all other members in its schema, and takes them all the same."""

    def to_schema(self) -> dict[str, Any]:
        return {**super().to_schema(), "additionalProperties": False}

    def check_members(self, content: Mapping[str, Any]) -> None:
        known = {self.member: content[self.member]} if self.member in content else {}
        super().check_members(known)


@mutant(kills=SCHEMA, because=RAN, protocol=HANDSHAKE)
@in_extension
class NeverChecksTheSchema(QuestionForm):
    """Looks for the value that approves, and at nothing else of the content."""

    def check(self, content: Any) -> Mapping[str, Any]:
        return self.check_object(content)

    def approves(self, content: Mapping[str, Any]) -> bool:
        return not self.member or content.get(self.member) in (self.yes, str(self.yes).lower())


@mutant(kills=WITHOUT_YES, because="a yes in another spelling", warned=True)
@in_extension
class FoldsTheChoice(QuestionForm):
    """Compares the chosen word whatever its case and blanks."""

    def check_value(self, content: Mapping[str, Any]) -> None:
        if isinstance(content[self.member], str):
            content = {self.member: content[self.member].strip().lower()}
        super().check_value(content)

    def approves(self, content: Mapping[str, Any]) -> bool:
        value = content.get(self.member)
        if isinstance(value, str):
            return bool(value.strip().lower() == self.yes)
        return super().approves(content)


@mutant(kills=SCHEMA, because=RAN)
@in_extension
class AnswersToAnythingButReject(QuestionForm):
    """A choice that is not the word for no is a yes."""

    def check_value(self, content: Mapping[str, Any]) -> None:
        if self.member != "decision":
            super().check_value(content)

    def approves(self, content: Mapping[str, Any]) -> bool:
        if self.member == "decision":
            return content["decision"] != "reject"
        return super().approves(content)


# ---- where answers are


@mutant(kills=UNASKED, because=RAN)
@in_extension
class TakesAnyResponse(ElicitationGate):
    """Takes the first response in the map, under whatever key."""

    def response_given(self, call: GatedCall) -> Any:
        found = super().response_given(call)
        given = call.caller.params.get("inputResponses") or {}
        return next(iter(given.values()), None) if found is None else found


@mutant(kills=UNASKED, because=RAN)
@in_extension
class FoldsTheKey(ElicitationGate):
    """Finds its key whatever its case."""

    def response_given(self, call: GatedCall) -> Any:
        found = super().response_given(call)
        given = call.caller.params.get("inputResponses") or {}
        folded = {key.strip().lower(): value for key, value in given.items()}
        return folded.get("approval") if found is None else found


@mutant(kills=UNASKED, because="error|refused|not run")
@in_extension
class RefusesOtherKeys(ElicitationGate):
    """Refuses an honest answer because there is another response beside it."""

    def response_given(self, call: GatedCall) -> Any:
        found = super().response_given(call)
        if len(call.caller.params.get("inputResponses") or {}) > 1:
            self.refuse_used(call)
        return found


@mutant(kills=UNASKED, because=RAN)
@in_extension
class ALaterResponseWins(ElicitationGate):
    """Merges all responses into one: the last of them says what was done."""

    def response_given(self, call: GatedCall) -> Any:
        found = super().response_given(call)
        if found is None:
            return None
        for other in call.caller.params["inputResponses"].values():
            if isinstance(other, Mapping) and isinstance(found, Mapping):
                found = {**found, **other}
        return found


@mutant(kills=MISSING, because=RAN)
@in_extension
class StateAloneApproves(ElicitationGate):
    """Takes a call that brings the state back for approved."""

    def next_round(self, call: GatedCall) -> Any:
        given = self.state_given(call)
        if given is None or call.caller.params.get("inputResponses"):
            return super().next_round(call)
        state = self.open_state(call, given)
        return self.run_once(call, ElicitationQuestion(state.id, state.expires_at, given))


@mutant(kills=MISSING, because=RAN)
@in_extension
class AnEmptyMapApproves(ElicitationGate):
    """All responses must approve: of none, all do."""

    def response_given(self, call: GatedCall) -> Any:
        if call.caller.params.get("inputResponses") == {}:
            form = call.tool.form
            content = {form.member: form.yes} if form is not None and form.member else {}
            return {"action": "accept", "content": content}
        return super().response_given(call)


@mutant(kills=MISSING, because="error|refused")
@in_extension
class RefusesInsteadOfAsking(ElicitationGate):
    """Refuses a retry without its answer, instead of asking again."""

    def response_given(self, call: GatedCall) -> Any:
        found = super().response_given(call)
        if found is None:
            self.refuse_used(call)
        return found


@mutant(kills=MALFORMED, because="-32603|[Ii]nternal")
@in_extension
class FailsOnOddResponses(ElicitationGate):
    """Takes the responses for an object without looking, and fails inside."""

    def response_given(self, call: GatedCall) -> Any:
        given = call.caller.params.get("inputResponses", {})
        return given["approval"] if given else None


@mutant(kills=MALFORMED, because="-32603|[Ii]nternal")
@in_extension
class FailsOnOddStates(ElicitationGate):
    """Cuts a state into parts before it looks whether it is text."""

    def state_given(self, call: GatedCall) -> str | None:
        given = call.caller.params.get("requestState")
        if given is not None and given.split(".")[2] == "":
            return None
        return super().state_given(call)


class _FailsOnOddContents(QuestionForm):
    """Takes the content for an object without looking, and fails inside."""

    def check_object(self, content: Any) -> Mapping[str, Any]:
        return {name: content[name] for name in content.keys()}  # noqa: SIM118


@mutant(kills=MALFORMED, because="content is .*(-32603|[Ii]nternal)")
@in_extension
class FailsOnOddContents(_FailsOnOddContents):
    """Takes the content for an object without looking, and fails inside."""


@mutant(kills=MALFORMED, because="content is .*(-32603|[Ii]nternal)", protocol=HANDSHAKE)
@in_extension
class FailsOnOddContentsInside(_FailsOnOddContents):
    """The same in an open call."""


@mutant(kills=MALFORMED, because="remark is .*(-32603|[Ii]nternal)")
@in_extension
class FailsOnOddTexts(QuestionForm):
    """Measures a text before it looks whether it is one."""

    def check_texts(self, content: Mapping[str, Any]) -> None:
        for name in self.texts.keys() & content.keys():
            content[name].strip()
        super().check_texts(content)


@mutant(kills=MALFORMED, because="action is .*(-32603|[Ii]nternal)")
@in_extension
class FailsOnOddActions(ElicitationGate):
    """Looks an action up in a table before it looks whether it is text."""

    def read_action(self, call: GatedCall, response: Any) -> Action:
        if isinstance(response, Mapping) and response.get("action") in {"dismiss"}:
            return Action.CANCEL
        return super().read_action(call, response)


@mutant(kills=MALFORMED, because="-32603|[Ii]nternal")
@in_extension
class FailsOnStatesOfNoEncoding(Sealer):
    """Expects that whatever looks like a state can be decoded."""

    def decode(self, text: str) -> bytes:
        assert text.replace("-", "").replace("_", "").isalnum(), "not our alphabet"
        return super().decode(text)


@mutant(kills=MALFORMED, because="-32603 Internal error")
@in_extension
class IsPoisonedByAnOddAnswer(ElicitationGate):
    """Keeps all answers, and from an odd one on cannot serve anybody."""

    def answered(self, call: GatedCall, question: ElicitationQuestion, response: Any) -> Any:
        kept = self.__dict__.setdefault("kept", [])
        assert all(isinstance(one, Mapping) for one in kept)
        kept.append(response)
        return super().answered(call, question, response)


@mutant(kills="elicitation/accept-runs-once", because="filled in[^§]*not run", warned=True)
@in_extension
class WantsNothingButTheYes(ElicitationGate):
    """Refuses an answer in which somebody filled in what the form offers beside the yes."""

    def approves(self, call: GatedCall, response: Mapping[str, Any]) -> bool:
        form, content = call.tool.form, response.get("content")
        if form is not None and isinstance(content, Mapping) and form.texts.keys() & content.keys():
            self.refuse(call, RefusalReason.MALFORMED, "got more than a yes")
        return super().approves(call, response)


@mutant(kills="elicitation/accept-runs-once", because="filled in[^§]*not run", warned=True)
@in_extension
class TakesShorterTextsThanItSays(QuestionForm):
    """Leaves no room for the last character that its schema allows."""

    def check_texts(self, content: Mapping[str, Any]) -> None:
        for name in self.texts.keys() & content.keys():
            if len(content[name]) == self.texts[name]["maxLength"]:
                raise ContentError(f"{name}: too long")
        super().check_texts(content)

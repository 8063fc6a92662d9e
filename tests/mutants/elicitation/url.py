"""Pages that anybody can finish, that need not be finished, or whose addresses say too much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from pytest_mcp_approval.reference_server.elicitation.extension import ElicitationExtension
from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.pages import ApprovalPages
from pytest_mcp_approval.reference_server.elicitation.records import (
    ElicitationQuestion,
    GatedCall,
    PageDecision,
    PageQuestion,
)
from pytest_mcp_approval.reference_server.elicitation.store import ElicitationStore
from pytest_mcp_approval.reference_server.server.answers import ErrorAnswer
from pytest_mcp_approval.reference_server.server.held_calls import ClientReply, ReplyKind
from tests.mutants.elicitation.parts import HANDSHAKE, RAN, in_extension
from tests.mutants.registry import mutant

if TYPE_CHECKING:
    from starlette.requests import Request

SHAPE = "elicitation/url-shape"
SECRETS = "elicitation/url-no-secrets"
NOT_DONE = "elicitation/url-accept-is-not-done"
OTHER = "elicitation/url-other-person"


# ---- shape


class _Address(ElicitationGate):
    """Writes the address of a page otherwise."""

    def address(self, question: ElicitationQuestion) -> str:
        return self.rewritten(super().address(question))

    def rewritten(self, url: str) -> str:
        raise NotImplementedError


@mutant(kills=SHAPE, because="is no absolute URL")
@in_extension
class ARelativeAddress(_Address):
    """Gives the path of a page, and not where it is."""

    def rewritten(self, url: str) -> str:
        return urlsplit(url).path


@mutant(kills=SHAPE, because="is no absolute URL", protocol=HANDSHAKE)
@in_extension
class AnAddressWithoutAScheme(_Address):
    """Gives the address of a page as people write it: without a scheme."""

    def rewritten(self, url: str) -> str:
        return url.partition("://")[2]


class _Params(ElicitationGate):
    def params(self, call: GatedCall, question: ElicitationQuestion) -> dict[str, Any]:
        params = super().params(call, question)
        return self.rewritten(params) if call.tool.form is None else params

    def rewritten(self, params: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


@mutant(kills=SHAPE, because="elicitationId", protocol=HANDSHAKE)
@in_extension
class NoIdOfItsOwn(_Params):
    """Gives a page's question no id in the handshake era."""

    def rewritten(self, params: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in params.items() if name != "elicitationId"}


@mutant(kills=SHAPE, because="message is ''")
@in_extension
class APageWithoutAMessage(_Params):
    """Sends an address, and does not say what it is for."""

    def rewritten(self, params: dict[str, Any]) -> dict[str, Any]:
        return {**params, "message": ""}


@mutant(kills=SHAPE, because="at the URL of its question is no page", warned=True)
@in_extension
class NoPageAtItsAddress(ElicitationStore):
    """Hands out addresses, and keeps no page for them."""

    def add_page(self, question: PageQuestion) -> None:
        pass


class _UrlFirst(ErrorAnswer):
    def to_error(self) -> dict[str, Any]:
        return {"code": -32042, "message": "a page must be visited first", "data": {}}


@mutant(kills=SHAPE, because="no list of elicitations", protocol=HANDSHAKE)
class AnErrorWithoutAList(ElicitationExtension):
    """Says that a page comes first, every other time, and does not say which."""

    class _Gate(ElicitationGate):
        def ask_inside(self, call: GatedCall) -> Any:
            times = self.__dict__["times"] = self.__dict__.get("times", 0) + 1
            if call.tool.form is None and times % 2 == 0:
                raise _UrlFirst
            return super().ask_inside(call)

    gate_class = _Gate


# ---- what the address says


@mutant(kills=SECRETS, because="user|demonstration|query")
@in_extension
class NamesThePersonInTheAddress(ElicitationGate):
    """Writes the user into the address of their page."""

    def params(self, call: GatedCall, question: ElicitationQuestion) -> dict[str, Any]:
        params = super().params(call, question)
        if "url" in params:
            params["url"] += f"?user={quote(call.caller.user)}&email=person@example.org"
        return params


@mutant(kills=SECRETS, because="a member access_token", protocol=HANDSHAKE)
@in_extension
class ATokenInTheAddress(_Address):
    """Writes a token into the address that opens it without a login."""

    def rewritten(self, url: str) -> str:
        return f"{url}?access_token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmVk"


@mutant(kills=SECRETS, because="HTTP 200, which shows")
@in_extension
class ShowsThePageToAnybody(ApprovalPages):
    """Shows the page, with what it is about, to whoever opens its address."""

    def person_at(self, request: Request) -> str | None:
        person = super().person_at(request)
        found = self.store.page(request.path_params["id"])
        if person is None and request.method == "GET" and found is not None:
            return found.user
        return person


@mutant(kills=SECRETS, because=RAN)
@in_extension
class OpeningApproves(ApprovalPages):
    """To open the page is to approve, whoever does so."""

    def person_at(self, request: Request) -> str | None:
        person = super().person_at(request)
        if person is None:
            self.store.decide(request.path_params["id"], PageDecision.APPROVED)
        return person


# ---- accepting is not finishing


class _AcceptIsDone(ElicitationGate):
    def page_agreed(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        return self.run_once(call, question)


@mutant(kills=NOT_DONE, because=RAN)
@in_extension
class AcceptIsDone(_AcceptIsDone):
    """Takes the agreement to open a page for what is decided there."""


@mutant(kills=NOT_DONE, because=RAN, protocol=HANDSHAKE)
@in_extension
class AcceptIsDoneInside(_AcceptIsDone):
    """The same in an open call."""


@mutant(kills=NOT_DONE, because=RAN)
@in_extension
class TheSecondAcceptIsDone(ElicitationGate):
    """When the client accepts once more, the person must have finished."""

    def wait_for_page(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        seen = self.__dict__.setdefault("seen", set())
        if question.id in seen:
            return self.run_once(call, question)
        seen.add(question.id)
        return super().wait_for_page(call, question)


@mutant(kills=NOT_DONE, because="the tool ran", protocol=HANDSHAKE)
@in_extension
class WaitsAndThenRuns(ElicitationGate):
    """Waits for the page, and runs when the wait is over, however it ended."""

    def page_left(self, call: GatedCall, question: ElicitationQuestion, reply: ClientReply) -> Any:
        if reply.kind is ReplyKind.READY:
            return super().page_left(call, question, reply)
        return self.run_once(call, question)


@mutant(kills=NOT_DONE, because=RAN)
@in_extension
class ADeclineOnThePageIsAnAnswer(ElicitationGate):
    """Looks whether the person has finished on the page, and not what they decided."""

    def page_agreed(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        page = self.store.page(question.id)
        if page is not None and page.decision is not PageDecision.NONE:
            return self.run_once(call, question)
        return super().page_agreed(call, question)


@mutant(kills=NOT_DONE, because="it is still open", protocol=HANDSHAKE, warned=True, timeout=2.0)
@in_extension
class WaitsForThePageForEver(ElicitationGate):
    """Waits for the page once more, whenever it has waited long enough."""

    def page_left(self, call: GatedCall, question: ElicitationQuestion, reply: ClientReply) -> Any:
        return self.page_agreed(call, question)


@mutant(kills=NOT_DONE, because="finished on its page: error -32603", warned=True)
@in_extension
class ExpectsAFinishedPage(ElicitationGate):
    """Looks up what the person decided, and fails inside where nobody has."""

    def wait_for_page(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        raise KeyError(question.id)


@mutant(kills=NOT_DONE, because="run 2 times|tool run")
@in_extension
class APageServesForEver(ElicitationGate):
    """A page that was approved lets every later call of its user run."""

    def page_agreed(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        pages = self.store._pages.find({"user": call.caller.user})
        if any(page.decision is PageDecision.APPROVED for page in pages):
            self.close(question)
            return call.run()
        return super().page_agreed(call, question)


# ---- who is at the page


@mutant(kills=OTHER, because=RAN)
@in_extension
class WhoeverHasTheLink(ApprovalPages):
    """Whoever has the address, and is logged in, can approve."""

    def is_for(self, question: PageQuestion, person: str) -> bool:
        return True


@mutant(kills=OTHER, because=RAN, protocol=HANDSHAKE)
@in_extension
class WhoeverHasTheLinkInside(ApprovalPages):
    """The same in the handshake era."""

    def is_for(self, question: PageQuestion, person: str) -> bool:
        return True


@mutant(kills=OTHER, because=RAN)
@in_extension
class ChecksWhoLooksOnly(ApprovalPages):
    """Checks who opens the page, and not who sends its form."""

    def find(self, request: Request) -> Any:
        if request.method == "POST":
            return self.question(request.path_params["id"]), None
        return super().find(request)

    def check_sender(self, question: PageQuestion, members: Mapping[str, str]) -> None:
        """Nothing: then a form can be made up."""


@mutant(kills=OTHER, because=RAN)
class ReadsTheIdTwice(ElicitationExtension):
    """Checks whose the question in the path is, and decides the one that the query names."""

    class _Gate(_Address):
        def rewritten(self, url: str) -> str:
            return f"{url}?question={url.rpartition('/')[2]}"

    class _Pages(ApprovalPages):
        def find(self, request: Request) -> Any:
            question, instead = super().find(request)
            named = request.query_params.get("question")
            if question is not None and named is not None:
                return self.question(named), None
            return question, instead

        def form(self, question: PageQuestion) -> str:
            path = self.path(question.id)
            return super().form(question).replace(path, f"{path}?question={question.id}")

    gate_class = _Gate
    pages_class = _Pages


@mutant(kills=OTHER, because=RAN)
@in_extension
class DecidesAllPages(ElicitationStore):
    """Decides all open questions at once, whoever they are for."""

    def decide(self, id: str, decision: PageDecision) -> bool:
        done = super().decide(id, decision)
        for other in self._pages.find({"decision": PageDecision.NONE}):
            super().decide(other.id, decision)
        return done


@mutant(kills=OTHER, because=RAN)
@in_extension
class KnowsPeopleByTheirLastName(ApprovalPages):
    """Compares the last words of two names: one user is as good as another user."""

    def is_for(self, question: PageQuestion, person: str) -> bool:
        return question.user.split(" ")[-1] == person.rsplit(" ", maxsplit=1)[-1]

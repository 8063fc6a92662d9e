"""The gate: a tool runs on a person's yes to the very call that they were asked about, once.

Two eras, one set of rules. Since 2026-07-28 the result of a call asks, and the call is made again
with the answer and a state of ours; before, the question is a request inside the open call. Every
check is a small method, so that each can be broken alone. What a person said ends a question, yes
or no; an answer that is none does not, as long as the client still has the state. A question is
used up before the tool runs, so that nothing can happen twice, whatever the tool does. Knows MCP's
words of elicitation and no transport.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar, NoReturn

from ...families.elicitation import vocabulary as words
from ...families.elicitation.vocabulary import Action, Mode
from ..server.answers import INVALID_PARAMS
from ..server.clock import Clock, whole_milliseconds
from ..server.held_calls import ClientReply, HeldCall, ReplyKind, ServerMessage
from . import binding
from .forms import ContentError
from .records import ElicitationQuestion, GatedCall, PageDecision, PageQuestion
from .refusals import ElicitationRefusal, RefusalReason
from .sealing import SealedState, Sealer, SealError
from .settings import ElicitationSettings
from .store import ElicitationStore

KEY = "approval"
"""Under which a result asks, and a retry answers."""
KEPT_LONGER = timedelta(days=1)
"""What is over is remembered beyond its end, since clocks are sometimes put back."""
FIRST_WITH_FORMS, FIRST_WITH_PAGES = "2025-06-18", "2025-11-25"
_UNANSWERED = {
    ReplyKind.ERROR: (RefusalReason.CLIENT_ERROR, "the client answered the question with an error"),
    ReplyKind.SILENT: (RefusalReason.UNANSWERED, "nobody answered the question in time"),
    ReplyKind.GONE: (RefusalReason.UNANSWERED, "the client is gone"),
    ReplyKind.UNREACHABLE: (
        RefusalReason.UNREACHABLE,
        "the client cannot be asked on this connection",
    ),
}


class ElicitationGate:
    """The gate of one server. Thread-safe."""

    sealer_class: ClassVar[type[Sealer]] = Sealer

    def __init__(
        self,
        store: ElicitationStore,
        clock: Clock,
        settings: ElicitationSettings | None = None,
        page_url: Callable[[str], str] | None = None,
    ) -> None:
        """`page_url` is the address of the page for the question with an id."""
        self.store = store
        self.clock = clock
        self.settings = settings or ElicitationSettings()
        self.page_url = page_url
        self.sealer = self.sealer_class(store.sealing_key)

    def decide(self, call: GatedCall) -> Any:
        """What the tool gave; or a question, as a result or as a held call; else a refusal."""
        self.check_capability(call)
        if call.caller.has_handshake:
            return self.ask_inside(call)
        return self.next_round(call)

    # ---- who can be asked

    def check_capability(self, call: GatedCall) -> None:
        """Of this request, each time: nobody is asked who did not say that they can be."""
        mode = self.mode_of(call)
        if mode not in self.modes_of(call):
            self.refuse_capability(call, mode)

    def mode_of(self, call: GatedCall) -> Mode:
        return Mode.URL if call.tool.form is None else Mode.FORM

    def modes_of(self, call: GatedCall) -> frozenset[Mode]:
        declared = words.declared_modes(call.caller.capabilities)
        if not call.caller.has_handshake or call.caller.protocol >= FIRST_WITH_PAGES:
            return declared
        return declared & {Mode.FORM} if call.caller.protocol >= FIRST_WITH_FORMS else frozenset()

    def refuse_capability(self, call: GatedCall, mode: Mode) -> NoReturn:
        raise ElicitationRefusal(
            RefusalReason.MISSING_CAPABILITY,
            f"{call.tool.name} needs a client that can ask its user: elicitation, mode {mode}",
            as_result=call.caller.has_handshake,
            code=words.MISSING_CAPABILITY,
            data={words.REQUIRED_CAPABILITIES: words.capability(mode)},
        )

    # ---- the question

    def open_question(self, call: GatedCall) -> ElicitationQuestion:
        self.clean_up()
        question = ElicitationQuestion(self.new_id(), self.expiry())
        if call.tool.form is None:
            self.store.add_page(
                PageQuestion(
                    question.id,
                    call.caller.user,
                    self.message(call),
                    secrets.token_urlsafe(32),
                    question.expires_at,
                )
            )
        return question

    def new_id(self) -> str:
        return secrets.token_urlsafe(32)

    def expiry(self) -> datetime:
        return whole_milliseconds(self.now() + self.settings.life)

    def message(self, call: GatedCall) -> str:
        return binding.message(call.tool.describe(call.arguments), call.arguments)

    def params(self, call: GatedCall, question: ElicitationQuestion) -> dict[str, Any]:
        """Of elicitation/create."""
        if call.tool.form is not None:
            return {
                words.MESSAGE: self.message(call),
                words.SCHEMA: call.tool.form.to_schema(),
            }
        params = {
            words.MODE: str(Mode.URL),
            words.MESSAGE: self.message(call),
            words.URL: self.address(question),
        }
        # Only the handshake era knows it, and tells the end of a page by it.
        return params | ({words.ELICITATION_ID: question.id} if call.caller.has_handshake else {})

    def address(self, question: ElicitationQuestion) -> str:
        assert self.page_url is not None, "a tool without a form needs pages"
        return self.page_url(question.id)

    # ---- since 2026-07-28: a result asks, a retry answers

    def next_round(self, call: GatedCall) -> Any:
        given = self.state_given(call)
        if given is None:
            # Answers without a state were given to no question of ours.
            return self.ask(call)
        state = self.open_state(call, given)
        question = ElicitationQuestion(state.id, state.expires_at, given)
        response = self.response_given(call)
        if response is None:
            return self.input_required(call, question)
        return self.answered(call, question, response)

    def ask(self, call: GatedCall) -> dict[str, Any]:
        question = self.open_question(call)
        question.state = self.sealer.seal(
            SealedState(
                question.id,
                self.principal(call),
                call.tool.name,
                self.bound(call),
                question.expires_at,
            )
        )
        return self.input_required(call, question)

    def principal(self, call: GatedCall) -> str:
        return call.caller.user

    def bound(self, call: GatedCall) -> str:
        return binding.digest(call.arguments)

    def input_required(self, call: GatedCall, question: ElicitationQuestion) -> dict[str, Any]:
        """The same question again has the same state: asking again renews nothing."""
        asked = {"method": words.CREATE, "params": self.params(call, question)}
        return {
            words.RESULT_TYPE: words.INPUT_REQUIRED,
            words.INPUT_REQUESTS: {KEY: asked},
            words.REQUEST_STATE: question.state,
        }

    def state_given(self, call: GatedCall) -> str | None:
        given = call.caller.params.get(words.REQUEST_STATE)
        if given is not None and not isinstance(given, str):
            self.refuse(call, RefusalReason.INVALID_STATE, f"{words.REQUEST_STATE}: expected text")
        return given

    def open_state(self, call: GatedCall, given: str) -> SealedState:
        """All the checks of a state."""
        state = self.check_seal(call, given)
        self.check_unexpired(call, state)
        self.check_user(call, state)
        self.check_tool(call, state)
        self.check_arguments(call, state)
        self.check_unspent(call, state)
        return state

    def check_seal(self, call: GatedCall, given: str) -> SealedState:
        try:
            return self.sealer.open(given)
        except SealError:
            self.refuse(
                call, RefusalReason.INVALID_STATE, f"{words.REQUEST_STATE}: not one of ours"
            )

    def check_unexpired(self, call: GatedCall, state: SealedState) -> None:
        if self.now() >= state.expires_at:
            self.refuse(
                call, RefusalReason.EXPIRED, "the question is too old: call again without a state"
            )

    def check_user(self, call: GatedCall, state: SealedState) -> None:
        if state.user != self.principal(call):
            self.refuse(call, RefusalReason.OTHER_USER, "somebody else was asked")

    def check_tool(self, call: GatedCall, state: SealedState) -> None:
        if state.tool != call.tool.name:
            self.refuse(call, RefusalReason.OTHER_REQUEST, "the question was about another tool")

    def check_arguments(self, call: GatedCall, state: SealedState) -> None:
        if state.arguments != self.bound(call):
            self.refuse(call, RefusalReason.OTHER_REQUEST, "the question was about other arguments")

    def check_unspent(self, call: GatedCall, state: SealedState) -> None:
        """So that the reason is told; `run_once` decides."""
        if self.store.is_spent(state.id):
            self.refuse_used(call)

    def response_given(self, call: GatedCall) -> Any:
        """The answer to our question; None if there is none. Others were not asked for."""
        given = call.caller.params.get(words.INPUT_RESPONSES)
        if given is None:
            return None
        if not isinstance(given, Mapping):
            self.refuse(
                call, RefusalReason.MALFORMED, f"{words.INPUT_RESPONSES}: expected an object"
            )
        return given.get(KEY)

    # ---- before: a question inside the call

    def ask_inside(self, call: GatedCall) -> HeldCall:
        question = self.open_question(call)
        return HeldCall(
            then=partial(self.answered_inside, call, question),
            patience=self.settings.waiting,
            question=ServerMessage(words.CREATE, self.params(call, question)),
            news=self.news_of(call, question),
        )

    def answered_inside(
        self, call: GatedCall, question: ElicitationQuestion, reply: ClientReply
    ) -> Any:
        if reply.kind is not ReplyKind.ANSWERED:
            return self.unanswered(call, question, reply)
        return self.answered(call, question, reply.result)

    def unanswered(self, call: GatedCall, question: ElicitationQuestion, reply: ClientReply) -> Any:
        """Silence, an error and a lost client are no consent."""
        self.close(question)
        self.refuse(call, *_UNANSWERED[reply.kind])

    def news_of(
        self, call: GatedCall, question: ElicitationQuestion
    ) -> Callable[[], ServerMessage | None] | None:
        return partial(self.news, question) if call.tool.form is None else None

    def news(self, question: ElicitationQuestion) -> ServerMessage | None:
        """That the person has finished on the page, once."""
        page = None if question.is_told else self.store.page(question.id)
        if page is None or page.decision is PageDecision.NONE:
            return None
        question.is_told = True
        return ServerMessage(words.COMPLETE, {words.ELICITATION_ID: question.id})

    # ---- the answer, in both eras

    def answered(self, call: GatedCall, question: ElicitationQuestion, response: Any) -> Any:
        action = self.read_action(call, response)
        if action is not Action.ACCEPT:
            self.close(question)
            self.refuse_answer(call, action)
        if call.tool.form is None:
            return self.page_agreed(call, question)
        if not self.approves(call, response):
            self.close(question)
            self.refuse_answer(call, action)
        return self.run_once(call, question)

    def read_action(self, call: GatedCall, response: Any) -> Action:
        said = response.get(words.ACTION) if isinstance(response, Mapping) else None
        if not isinstance(said, str) or said not in set(Action):
            self.refuse(
                call, RefusalReason.MALFORMED, f"{words.ACTION}: expected {', '.join(Action)}"
            )
        return Action(said)

    def approves(self, call: GatedCall, response: Mapping[str, Any]) -> bool:
        form = call.tool.form
        assert form is not None
        # Where accepting is approving, there may be no content at all.
        nothing: Any = {} if not form.member else None
        try:
            content = form.check(response.get(words.CONTENT, nothing))
        except ContentError as error:
            self.refuse(call, RefusalReason.MALFORMED, str(error))
        return form.approves(content)

    def close(self, question: ElicitationQuestion) -> None:
        """Nothing will come of it any more, whatever else is sent."""
        self.store.spend(question.id, question.expires_at)

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        """One indivisible step first, however many come at once."""
        if not self.store.spend(question.id, question.expires_at):
            self.refuse_used(call)
        return call.run()

    # ---- pages

    def page_agreed(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        """The person agreed to open the page, and may not have finished there."""
        page = self.store.page(question.id)
        if page is None:
            self.refuse(call, RefusalReason.EXPIRED, "the page is too old: call again")
        if page.decision is PageDecision.NONE:
            return self.wait_for_page(call, question)
        if page.decision is PageDecision.DECLINED:
            self.close(question)
            self.refuse_answer(call, Action.DECLINE)
        return self.run_once(call, question)

    def wait_for_page(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        """The same question again; or the call stays open until the page is finished."""
        if not call.caller.has_handshake:
            return self.input_required(call, question)
        return HeldCall(
            then=partial(self.page_left, call, question),
            patience=self.settings.waiting,
            ready=partial(self.page_is_finished, question),
            news=self.news_of(call, question),
        )

    def page_is_finished(self, question: ElicitationQuestion) -> bool:
        page = self.store.page(question.id)
        return page is None or page.decision is not PageDecision.NONE

    def page_left(self, call: GatedCall, question: ElicitationQuestion, reply: ClientReply) -> Any:
        if reply.kind is not ReplyKind.READY:
            self.close(question)
            self.refuse(call, RefusalReason.NOT_FINISHED, "nobody finished on the page in time")
        return self.page_agreed(call, question)

    # ---- refusals

    def refuse(self, call: GatedCall, reason: RefusalReason, message: str) -> NoReturn:
        """The client's mistakes are errors; inside an open call they are told as its result."""
        raise ElicitationRefusal(
            reason,
            f"Nothing was done: {message}",
            as_result=call.caller.has_handshake,
            code=INVALID_PARAMS,
        )

    def refuse_used(self, call: GatedCall) -> NoReturn:
        self.refuse(call, RefusalReason.USED, "the question is over: call again without a state")

    def refuse_answer(self, call: GatedCall, action: Action) -> NoReturn:
        """What a person decided is no mistake: it is told as a result."""
        reason, told = {
            Action.ACCEPT: (RefusalReason.NOT_APPROVED, "the person did not approve"),
            Action.DECLINE: (RefusalReason.DECLINED, "the person declined"),
            Action.CANCEL: (RefusalReason.CANCELLED, "the person closed the question"),
        }[action]
        raise ElicitationRefusal(
            reason, f"Nothing was done, {call.tool.name} did not run: {told}", as_result=True
        )

    # ---- housekeeping

    def clean_up(self) -> None:
        self.store.forget(self.now() - KEPT_LONGER)

    def now(self) -> datetime:
        return self.clock.now()

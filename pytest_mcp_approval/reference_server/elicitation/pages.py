"""The page of a question: who asks, what will happen, and two buttons.

Only the user whose client called can answer, on whichever browser they are logged in: having the
address is not enough, and it says nothing about anybody. The login is that of a demonstration: a
header or a cookie that names the user, which a real server's login would have checked. Decides
nothing itself; knows no MCP.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ..server import pages
from ..server.clock import Clock
from ..server.extension import USER_HEADER
from ..server.secret_text import same
from .records import PageDecision, PageQuestion
from .store import ElicitationStore

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

PATH = "/approve"
USER_COOKIE = "reference_user"
CSRF_MEMBER, DECISION_MEMBER = "csrf", "decision"
BUTTONS = {PageDecision.APPROVED: ("Approve", "go"), PageDecision.DECLINED: ("Decline", "stop")}


class ApprovalPages:
    """Each check is a method of its own."""

    def __init__(self, store: ElicitationStore, clock: Clock) -> None:
        self.store = store
        self.clock = clock

    def path(self, id: str) -> str:
        return f"{PATH}/{id}"

    def routes(self) -> list[Route]:
        from starlette.routing import Route

        where = f"{PATH}/{{id}}"
        return [
            Route(where, self.show, methods=["GET"]),
            Route(where, self.take, methods=["POST"]),
        ]

    # ---- who is there, and what they may see

    def person_at(self, request: Request) -> str | None:
        """Who is logged in; None if nobody is."""
        named = request.headers.get(USER_HEADER)
        if named is None and USER_COOKIE in request.cookies:
            named = unquote(request.cookies[USER_COOKIE])
        return named or None

    def find(self, request: Request) -> tuple[PageQuestion | None, Response | None]:
        """The question for whoever is there, or the page that they get instead."""
        person = self.person_at(request)
        if person is None:
            return None, pages.message(
                "Log in first", "Then open this page again: it is for one person alone.", 401
            )
        question = self.question(request.path_params["id"])
        # Of somebody else's question one does not even learn that there is one.
        if question is None or not self.is_for(question, person):
            return None, _not_open()
        return question, None

    def question(self, id: str) -> PageQuestion | None:
        """The open question with that id."""
        found = self.store.page(id)
        if found is None or found.decision is not PageDecision.NONE:
            return None
        return None if self.clock.now() >= found.expires_at or self.store.is_spent(id) else found

    def is_for(self, question: PageQuestion, person: str) -> bool:
        return question.user == person

    # ---- showing

    async def show(self, request: Request) -> Response:
        import anyio.to_thread

        question, instead = await anyio.to_thread.run_sync(self.find, request)
        return instead or self.render(question)  # type: ignore[arg-type]  # one of the two is there

    def render(self, question: PageQuestion) -> Response:
        return pages.page(
            "A call waits for you",
            "<h1>A client wants to do something in your name</h1>\n"
            f"<dl>\n{pages.field('You are', question.user)}\n"
            f"{pages.row('It would do', pages.shown(question.message))}\n</dl>\n"
            f"{self.form(question)}",
        )

    def form(self, question: PageQuestion) -> str:
        buttons = "\n".join(
            f'<button class="{style}" name="{DECISION_MEMBER}" value="{decision}">{escape(text)}'
            "</button>"
            for decision, (text, style) in BUTTONS.items()
        )
        return (
            f'<form method="post" action="{self.path(question.id)}" autocomplete="off">\n'
            f"{pages.no_default_button(DECISION_MEMBER)}"
            f"{pages.hidden(CSRF_MEMBER, question.csrf)}\n"
            '<p class="note">Your decision counts for this one call, once.</p>\n'
            f'<div class="buttons">\n{buttons}\n</div></form>'
        )

    # ---- deciding

    async def take(self, request: Request) -> Response:
        import anyio.to_thread

        question, instead = await anyio.to_thread.run_sync(self.find, request)
        if question is None:
            return instead or _not_open()
        try:
            members = await pages.read_form(request)
            self.check_sender(question, members)
            if members.get(DECISION_MEMBER) == "":
                return self.render(question)  # Enter was pressed, and none of the two buttons
            decision = self.read_decision(members)
        except pages.FormError as error:
            return pages.message("Nothing was decided", str(error), 400)
        if not await anyio.to_thread.run_sync(self.store.decide, question.id, decision):
            return _not_open()
        told = {
            PageDecision.APPROVED: "The call may run, once.",
            PageDecision.DECLINED: "The call does not run.",
        }
        return pages.message("Your decision counts", f"{told[decision]} You can close this page.")

    def check_sender(self, question: PageQuestion, members: Mapping[str, str]) -> None:
        if not same(members.get(CSRF_MEMBER), question.csrf):
            raise pages.FormError("This form does not belong to this page.")

    def read_decision(self, members: Mapping[str, str]) -> PageDecision:
        said = members.get(DECISION_MEMBER, "")
        if said not in set(BUTTONS):
            raise pages.FormError("This form makes none of the two choices.")
        return PageDecision(said)


def _not_open() -> Response:
    return pages.message(
        "There is no open question here",
        "It was answered, is too old, or is for somebody else. A client that still needs an answer "
        "asks again.",
        404,
    )

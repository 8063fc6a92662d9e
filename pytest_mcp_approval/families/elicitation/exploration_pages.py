"""What the models of both eras know of questions: which of them people can be asked, and who is at
the page of one in url mode.

A page is approved by the person whom the server asked, and by nobody else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from ...target import Target
from ...wire import StdioTransport
from ..base.driver import DriverError
from ..base.exploration import EndOfWalk, Exercised, LeftOut, transition, which
from ..base.token_exploration import TokenModel
from .driver import Elicitation
from .outcome import AskedQuestion
from .people import FormPerson
from .settings import BROWSER, ElicitingTool
from .vocabulary import Mode, mode_of

NOT_DONE, OTHER_PERSON = "url-accept-is-not-done", "url-other-person"


class PagesModel(TokenModel):
    """Questions, and the people who answer them."""

    driver: Elicitation

    def __init__(self, target: Target, exercised: Exercised | None = None) -> None:
        super().__init__(target, exercised)
        self._visited: list[AskedQuestion] = []
        """Questions on whose page somebody else was."""

    def leave_out(self, tool: ElicitingTool) -> None:
        """A tool that asks in a way that is not explored."""
        raise NotImplementedError

    def can_be_answered(self, question: AskedQuestion) -> bool:
        """By one form or page, or by several forms at once."""
        if question.mode is None or question.by_error:
            return False
        if question.mode is Mode.URL:
            # A browser is opened for scenarios only.
            return not question.siblings and self.driver.table.person.who != BROWSER
        return all(mode_of(one) is Mode.FORM for one in question.siblings.values())

    def rounds_of(self, tool: ElicitingTool) -> int:
        """How many questions an honest call of it has; found out by one."""
        if not self.driver.seen.knows_rounds_of(tool):
            with contextlib.suppress(DriverError):
                asked = self.driver.ask(tool)
                if isinstance(asked, AskedQuestion) and self.can_be_answered(asked):
                    self.driver.finish(asked)
                elif isinstance(asked, AskedQuestion):
                    self.driver.leave(asked)
        return self.driver.seen.rounds_of(tool)

    # ---- at the page

    def undecided(self) -> list[AskedQuestion]:
        """Those whose page nobody has decided on yet."""
        return []

    def at_page(self, question: AskedQuestion, *, approves: bool, gone: bool) -> None:
        """The caller's own person decides. `gone`: the page may rightly be gone."""
        person = self.driver.person
        try:
            (person.approve if approves else person.decline)(question)
        except DriverError as error:
            if gone:
                raise LeftOut from error
            raise EndOfWalk(f"nobody could decide on the page: {error}") from error
        self.driver.forget()

    @property
    def has_page_for_others(self) -> bool:
        person = self.driver.table.person
        known = person.headers or self.target.settings.headers
        at_pages = not person.is_told and person.who != BROWSER
        return at_pages and bool(known and self._headers_of_others() and self.undecided())

    def _headers_of_others(self) -> Mapping[str, str]:
        alone = isinstance(self.target.transport, StdioTransport)  # over a pipe there is one user
        of_run = {} if alone else self.target.second_user_headers
        return self.driver.table.person.second_headers or of_run

    @transition(
        "somebody else decides on the page",
        when="has_page_for_others",
        rules=(OTHER_PERSON,),
        number=which(),
    )
    def other_at_page(self, number: int) -> None:
        """Whatever they can do there, the call does not run for it."""
        question: AskedQuestion = self.pick(self.undecided(), number)
        other = FormPerson(self.target, self.driver.table.person, self._headers_of_others())
        try:
            came = other.try_to_approve(question.url)
        except DriverError as error:
            came = str(error)
        self.driver.forget()
        self._visited.append(question)
        self.say(f"somebody else is at the page of {question.tool.name}", came)

    def was_visited(self, question: AskedQuestion) -> bool:
        return any(one is question for one in self._visited)

    def rule_of_page(self, question: AskedQuestion) -> tuple[str, str]:
        """What is broken if the call runs although its person has not approved on its page."""
        if self.was_visited(question):
            return OTHER_PERSON, "a question whose page somebody else has approved"
        return NOT_DONE, "a question whose page nobody has approved"

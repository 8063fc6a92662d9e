"""Steps of an enrolment that several scenarios share: begin, answer, finish, and what is enrolled.

Knows no fault and no rule; `NotVerified` if the target does not give what it should.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from virtual_authenticator import Authenticator, Profile

from ...catalogue import Finding, NotVerified
from ...wire import Outcome, Reply
from .driver import confirmed_enrolment
from .scenario import Ceremony
from .vocabulary import Reason

_INTERNAL_ERROR = -32603
_FIRST_SERVER_STATUS = 500


def begin(ceremony: Ceremony) -> dict[str, Any]:
    with ceremony.honest_step():
        return ceremony.approval.begin_options()


def answer(
    ceremony: Ceremony,
    shape: str | Profile | Authenticator = "security-key",
    options: Mapping[str, Any] | None = None,
    **create: Any,
) -> tuple[Authenticator, dict[str, Any]]:
    """An authenticator's answer to the options (or to new ones); not sent yet."""
    given = begin(ceremony) if options is None else options
    with ceremony.honest_step():
        device, _, response = ceremony.approval.register(shape, given, **create)
    return device, response


def enrolled_ids(ceremony: Ceremony) -> list[str]:
    """The ids that a new enrolment excludes: all that the user has enrolled (section 4.4.1)."""
    listed = begin(ceremony).get("excludeCredentials")
    if not isinstance(listed, list):
        raise NotVerified("excludeCredentials is no list, so what is enrolled cannot be seen")
    return [str(one.get("id")) for one in listed if isinstance(one, dict)]


def expect_not_enrolled(ceremony: Ceremony, credential_id: str, *, sent: str) -> None:
    """A refused registration left nothing behind."""
    ceremony.expect(
        credential_id not in enrolled_ids(ceremony),
        sent=f"{sent}; then a new begin",
        expected="a refused credential is not enrolled",
        got="its id among excludeCredentials",
    )


def expect_registration_refused(
    ceremony: Ceremony,
    response: Mapping[str, Any],
    *reasons: Reason | str,
    sent: str,
    tolerated: Mapping[Reason | str, str] | None = None,
) -> None:
    """The registration is refused for one of these reasons, left nothing behind and did no harm."""
    reply = ceremony.approval.finish(response)
    ceremony.expect_error(reply, *reasons, sent=sent, tolerated=tolerated)
    expect_not_enrolled(ceremony, str(response["id"]), sent=sent)
    expect_still_enrols(ceremony, sent=sent)


def expect_still_enrols(ceremony: Ceremony, *, sent: str) -> None:
    """Whatever came before: an honest enrolment works afterwards."""
    _, response = answer(ceremony)
    reply = ceremony.approval.finish(response)
    ceremony.expect(
        confirmed_enrolment(reply),
        sent=f"an honest enrolment, after {sent}",
        expected="success",
        got=reply.describe(),
    )


def expect_some_error(ceremony: Ceremony, reply: Reply, *, sent: str) -> None:
    """Bad params (reading): any error will do; an internal one is a warning, silence or a result
    is a finding."""
    refused = reply.outcome in (Outcome.ERROR, Outcome.NULL_ID, Outcome.HTTP_STATUS)
    ceremony.expect(refused, sent=sent, expected="an error", got=reply.describe())
    expect_an_answer(ceremony, reply, sent=sent)


def expect_an_answer(ceremony: Ceremony, reply: Reply, *, sent: str) -> None:
    """Either way is fine, as long as the server answers and does not break down over it."""
    if reply.outcome in (Outcome.NO_ANSWER, Outcome.CLOSED, Outcome.UNREACHABLE, Outcome.GARBAGE):
        raise Finding(sent=sent, expected="an answer", got=reply.describe())
    error = reply.error or reply.stray_error
    broke = (reply.status or 0) >= _FIRST_SERVER_STATUS
    if broke or (error is not None and error.code == _INTERNAL_ERROR):
        ceremony.warn(f"{sent}: {reply.describe()}; bad params are no internal error (reading)")

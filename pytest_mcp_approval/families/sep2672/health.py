"""Whether the server serves an honest person now: by one whole approval, or by a glance.

Says at which step the server failed, and knows no verdicts.
"""

from __future__ import annotations

from virtual_authenticator import WebAuthnError

from ...target import Target
from ..base.driver import DriverError
from . import vocabulary as words
from .driver import REGISTERED_ODDLY, Approval, ListedTool, Passkey
from .outcome import reason_in
from .scenario import ToolsView

_REMEMBERED = "passkey"
"""Where the scenarios' passkey is kept on a target that keeps everything (`Ceremony.passkey`)."""


def honest_approval(target: Target) -> str:
    """Enrol, ask for a challenge, sign, call: "" if the tool ran, else the step and what came.

    A target that is reset gets a new passkey. One that keeps everything would collect a thousand of
    them, with as many entries in every challenge. There an enrolment is only begun, which shows
    that it copes with what is stored, and the run's passkey approves. If that fails, a new one is
    enrolled, since a check may have spoilt the counter.
    """
    approval = Approval(target)
    tool = _tool(approval)
    keeps_everything = _keeps_everything(target)
    known: Passkey | None = target.remembered.get(_REMEMBERED) if keeps_everything else None
    try:
        if known is not None:
            approval.begin_options()
            if not _approve(approval, tool, known):
                return ""
            target.remembered.pop(_REMEMBERED, None)
        passkey = approval.enrol()
        problem = _approve(approval, tool, passkey)
    except DriverError as error:
        return str(error)
    if not problem and keeps_everything:
        target.remembered[_REMEMBERED] = passkey
    return problem


def glance(target: Target) -> str:
    """A challenge is asked for: "" if it is given, else what came. An enrolment is begun as well,
    if a registration other than an honest one was sent since the last glance.

    If no passkey is known to be enrolled, "none is eligible" is as good an answer.
    """
    approval = Approval(target)
    tool = _tool(approval)
    try:
        if target.remembered.pop(REGISTERED_ODDLY, False):
            approval.begin_options()
        approval.challenge(tool.name, tool.arguments)
    except DriverError as error:
        known = _keeps_everything(target) and _REMEMBERED in target.remembered
        reason = reason_in(error.reply) if error.reply is not None else None
        none_is_eligible = reason == words.Reason.NO_ELIGIBLE_CREDENTIAL
        return "" if none_is_eligible and not known else str(error)
    return ""


def _keeps_everything(target: Target) -> bool:
    return not (target.can_reset or target.settings.reset)


def _tool(approval: Approval) -> ListedTool:
    return ToolsView(approval, warn=lambda _: None).tool


def _approve(approval: Approval, tool: ListedTool, passkey: Passkey) -> str:
    try:
        challenge = approval.challenge(tool.name, tool.arguments)
        evidence = passkey.sign(challenge)
    except DriverError as error:
        return str(error)
    except (WebAuthnError, ValueError, KeyError, TypeError) as error:
        return f"{words.CHALLENGE_CREATE}: its requestOptions cannot be signed: {error}"
    outcome = approval.call(challenge, evidence)
    if outcome.served:
        return ""
    return f"tools/call {tool.name} with honest evidence: {outcome.describe()}"

"""Without a secret of its own a service does not start."""

import re

import pytest

from pytest_mcp_approval.catalogue import Finding, Grade, requirement
from pytest_mcp_approval.target import TargetError
from pytest_mcp_approval.wire import WireError

SECRETS = {
    "no secret": None,
    "an empty secret": "",
    "a blank secret": "   ",
    "the known default secret": "CHANGE-ME-IN-PRODUCTION",
    "the known default secret and a line end": "CHANGE-ME-IN-PRODUCTION\n",
}


LEFT_OPEN = ("a blank secret", "the known default secret and a line end")
"""The document names the default; an empty one is no secret either. Others are only bad ones."""


@requirement("execution_tokens/default-secret")
@pytest.mark.parametrize("name", SECRETS)
def test_without_a_secret_of_its_own_it_does_not_start(executions, name):
    """Tokens signed with a publicly known secret are not accepted, and the start says why."""
    executions.honest()
    answer, said = _ask(executions, SECRETS[name])
    sent = f"a start with {name}, and a token signed with it"
    expected = "it does not start, and says why"
    if answer is not None and not answer.refused:
        if name in LEFT_OPEN:
            executions.warn(f"{sent}: {answer.describe()}; expected that {expected}")
            return
        raise Finding(sent=sent, expected=expected, got=answer.describe(), grade=Grade.RAN)
    if not said.strip():
        executions.warn(f"{sent}: it does not start, without a word")


OWN = {
    "another secret": "a secret of its own, e1a9e2c0b7",
    "a secret longer than a block of SHA-256": "0123456789 abcdef" * 12,
    "a secret with signs that shells read": "a $HOME `id` 'secret' \\n of \"its\" own; #1 %41",
}


@requirement("execution_tokens/default-secret")
@pytest.mark.parametrize("name", OWN)
def test_a_secret_of_its_own_starts(executions, name):
    """The positive twin: another secret of a decent length."""
    answer, said = _ask(executions, OWN[name])
    sent = f"a start with {name}, and a token signed with it"
    if answer is None:
        expected = "accepted, content run once"
        raise Finding(sent=sent, expected=expected, got=f"it does not start: {said}")
    executions.expect_accepted(answer, sent=sent)


@requirement("execution_tokens/default-secret")
def test_a_short_secret_is_better_refused(executions):
    executions.honest()
    answer, _ = _ask(executions, "abc")
    if answer is not None and answer.accepted:
        executions.warn(
            "a secret of three letters was taken; expected a longer one to be asked for"
        )


def _ask(executions, secret):
    """The answer (None: it did not start at all), and what was said."""
    other = executions.with_secret(secret)
    try:
        with executions.may_not_start():
            answer = other.driver.execute(other.token())
    except (TargetError, WireError) as error:
        return None, str(error)
    # That a command ended is no word of it.
    return answer, re.sub(r"^exit code -?[0-9]+", "", answer.text)

"""Each check is made in every way in which a verifier can be asked: with a host, without one, and
for an action of another kind."""

from typing import Any

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.execution_tokens.token_making import ENDLESS, written

OTHER_ACTION = "mcp_approval_another"


def _ways(executions):
    """How it is asked, and for what its token is: (members of the token, members of the call)."""
    found: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    host = executions.table.host
    if executions.verifier.takes("host"):
        found["a URL"] = ({}, {"host": f"https://{host}/"})
        found["a bare host"] = ({}, {"host": host})
        found["no host"] = ({}, {"host": None})
        found["no host, as its token has none"] = ({"hosts": []}, {"host": None})
        found["one of two hosts"] = ({"hosts": ["a.example", host]}, {"host": f"http://{host}/x"})
    if executions.verifier.takes("action") and executions.runs_anything:
        found["another kind of action"] = ({"action": "send_mail"}, {"action": "send_mail"})
        found["an action that reads"] = ({"action": "read_file"}, {"action": "read_file"})
    if not found:
        executions.not_applicable("it is asked in one way only")
    return found


def _fault(executions, fault, members, call):
    """A token and a call with one thing wrong."""
    if fault == "a wrong signature":
        return executions.changed(executions.token(**members), signature="0" * 64), call
    if fault == "an end long past":
        past = written(executions.driver.now() - ENDLESS)
        return executions.token(**members, expires_at=past), call
    if fault == "another content":
        return executions.token(**members), {**call, "content": executions.other_content}
    if fault == "another action":
        return executions.token(**members), {**call, "action": OTHER_ACTION}
    if fault == "another host":
        return executions.token(**members), {**call, "host": "https://evil.example/"}
    if fault == "no nonce":
        return executions.token(**members, nonce=None), call
    token = executions.token(**members)
    answer = executions.execute(token, **call)
    executions.need_served(answer, "an honest token is refused")
    executions.expect_accepted(answer, sent="a good token, for the first time")
    return token, call


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param("a wrong signature", marks=requirement("execution_tokens/signature")),
        pytest.param("an end long past", marks=requirement("execution_tokens/expiry", needs=[])),
        pytest.param("another action", marks=requirement("execution_tokens/scope-action")),
        pytest.param("another host", marks=requirement("execution_tokens/scope-host")),
        pytest.param("another content", marks=requirement("execution_tokens/content-at-execution")),
        pytest.param("no nonce", marks=requirement("execution_tokens/nonce-required")),
        pytest.param("its second use", marks=requirement("execution_tokens/nonce-replay")),
    ],
)
def test_each_check_is_made_in_every_way(executions, fault):
    """The same call without the fault is served."""
    if fault in ("an end long past", "no nonce"):
        executions.need_secret()
    if fault in ("another action", "another host"):
        executions.need_argument(fault.removeprefix("another "))
    ways = _ways(executions)
    with executions.several() as several:
        for way, (members, call) in executions.some(ways).items():
            with several.one(way):
                answer = executions.execute(executions.token(**members), **call)
                if answer.refused and ("action" in call or None in call.values()):
                    continue  # it does not know this kind, or does nothing without a host
                executions.need_served(answer, f"an honest token with {way} is refused")
                token, asked = _fault(executions, fault, members, call)
                executions.expect_refused(
                    executions.execute(token, **asked), sent=f"a token with {fault}, with {way}"
                )

"""Confirmation tokens, section 6.4: what is recorded about every token."""

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.confirmation_tokens.audit import entries_about
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    AUDIT_MEMBERS,
    FAILURE,
    SUCCESS,
    Event,
)
from pytest_mcp_approval.wire.reply import show_json


def _issue(tokens):
    return tokens.issue()


def _redeem(tokens):
    return tokens.used()


def _reject(tokens):
    issued = tokens.issue()
    outcome = tokens.redeem(issued.with_params(tokens.changed()))
    tokens.expect_not_run(outcome, sent="a token for other parameters")
    return issued


def _replay(tokens):
    issued = tokens.used()
    tokens.expect_not_run(tokens.redeem(issued), sent="a token for the second time")
    return issued


def _revoke(tokens):
    if not tokens.table.introspection:
        raise NotApplicable("tokens cannot be revoked, as far as the table says (introspection)")
    issued = tokens.issue()
    if not tokens.driver.revoke(issued.token).succeeded:
        raise NotVerified("an honest revocation failed")
    return issued


CASES = {
    "an issue": (_issue, Event.ISSUED, SUCCESS),
    "a redemption": (_redeem, Event.VALIDATED, SUCCESS),
    "a refusal": (_reject, Event.REJECTED, FAILURE),
    "a replay": (_replay, Event.REJECTED, FAILURE),
    "a revocation": (_revoke, Event.REVOKED, SUCCESS),
}


def _entry(tokens, issued, event):
    found = entries_about(tokens.driver.binding.audit_entries(), issued.token, event)
    return found[-1] if found else None


@requirement("confirmation_tokens/6.4-audit")
@pytest.mark.parametrize("case", CASES)
def test_it_is_written_down(tokens, case):
    """There is an entry about the token, with the outcome."""
    act, event, outcome = CASES[case]
    issued = act(tokens)
    entry = _entry(tokens, issued, event)
    tokens.expect(
        entry is not None and entry.get("outcome") == outcome,
        sent=f"{case}, then a look at the audit log",
        expected=f"an entry {event} with outcome {outcome}",
        got="no such entry" if entry is None else f"outcome {show_json(entry.get('outcome'))}",
    )


@requirement("confirmation_tokens/6.4-audit")
@pytest.mark.parametrize("case", CASES)
def test_the_entry_is_whole(tokens, case):
    """All members, each of its kind; a failure has its reason."""
    act, event, outcome = CASES[case]
    issued = act(tokens)
    entry = _entry(tokens, issued, event)
    if entry is None:
        raise NotVerified(f"the audit log has no {event} for {case}")
    wanted = (*AUDIT_MEMBERS, *(("failure_reason",) if outcome == FAILURE else ()))
    for name in wanted:
        tokens.expect(
            isinstance(entry.get(name), str | int | float) and entry.get(name) != "",
            sent=f"{case}, then a look at the audit log",
            expected=f"a {name} in {event}",
            got=show_json(entry.get(name)) if name in entry else "none",
        )
    tokens.expect(
        entry["operation"] == issued.operation,
        sent=f"{case}, then a look at the audit log",
        expected=f"operation {issued.operation}",
        got=show_json(entry["operation"]),
    )


@requirement("confirmation_tokens/6.4-audit")
def test_the_entry_tells_when(tokens):
    """The timestamp is that of the event, by the server's clock."""
    issued = tokens.used()
    entry = _entry(tokens, issued, Event.VALIDATED)
    if entry is None:
        raise NotVerified("the audit log has no entry for a redemption")
    try:
        at = tokens.driver.binding.instant(entry.get("timestamp")).at
        got, near = at.isoformat(), abs((at - tokens.target.clock.now()).total_seconds())
    except ValueError as error:
        got, near = str(error)[:80], None
    tokens.expect(
        near is not None and near <= max(60, tokens.slack),
        sent="a redemption, then a look at the audit log",
        expected=f"a timestamp near {tokens.target.clock.now().isoformat()}",
        got=got,
    )

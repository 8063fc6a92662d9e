"""Confirmation tokens, sections 2.3 and 7.3: questions about a token are answered truthfully."""

import contextlib
import datetime

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.confirmation_tokens.kinds import FEW, SESSION, tokens_of_kind
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import TokenType
from pytest_mcp_approval.wire.reply import show_json

USABLE = {"active", "valid", "fresh", "usable", "unused"}
SPENT = {"expired", "used", "consumed", "redeemed", "spent", "revoked", "invalid"}


def _state(tokens, issued, session=None):
    if not tokens.table.introspection["status"]:
        raise NotVerified("needs introspection.status, the query that tells a token's state")
    answer = _told(tokens, issued, session)
    # A server that has forgotten the token, or tells nothing about it, says so with a code.
    return answer.code or tokens.driver.binding.state(answer)


def _told(tokens, issued, session=None):
    """What introspection says of a token; asking runs nothing, which is not looked at here."""
    binding = tokens.driver.binding
    call = binding.introspection_params(tokens.table.introspection["status"], issued.token)
    return binding.read(tokens.driver.patiently(call, session))


def _spent(tokens, how):
    if how == "used":
        return tokens.used()
    issued = tokens.issue()
    if how == "revoked":
        tokens.driver.revoke(issued.token)
    else:
        tokens.move_beyond(issued)
    return issued


@requirement("confirmation_tokens/7.3-status")
@pytest.mark.parametrize("how", ["used", "revoked", "expired"])
def test_a_spent_token_is_not_called_fresh(tokens, how):
    """Its state differs from that of a usable token. The words are the server's own, as long as
    they do not say the opposite. Where no state is told, it may be that the token was forgotten: a
    warning."""
    fresh = _state(tokens, tokens.issue())
    if fresh is None:
        raise NotVerified("needs introspection.state_at, where a token's state is told")
    spent = _state(tokens, _spent(tokens, how))
    tokens.expect(
        spent != fresh,
        sent=f"introspection of a fresh token, and of one that is {how}",
        expected="two different states",
        got=f"{show_json(fresh)} and {show_json(spent)}",
    )
    tokens.expect(
        str(fresh).lower() not in SPENT and str(spent).lower() not in USABLE,
        sent=f"introspection of a fresh token, and of one that is {how}",
        expected="states that do not say the opposite",
        got=f"{show_json(fresh)} and {show_json(spent)}",
    )
    if spent is None:
        tokens.warn(f"introspection of a token that is {how}: no state is told, and no code")


@requirement("confirmation_tokens/7.3-status")
def test_a_spent_token_that_carries_its_payload_is_not_called_fresh(tokens):
    """What it carries does not say that it was used or revoked."""
    with tokens.variant("signed", True) as other, other.several() as several:
        fresh = _state(other, other.issue())
        if fresh is None:
            raise NotVerified("needs introspection.state_at, where a token's state is told")
        ended = {"used": other.used(), "revoked": other.issue()}
        if not other.driver.revoke(ended["revoked"].token).succeeded:
            del ended["revoked"]  # the server's choice
        for how, issued in ended.items():
            with several.one(how):
                spent = _state(other, issued)
                other.expect(
                    spent != fresh,
                    sent=f"introspection of a fresh signed token, and of one that is {how}",
                    expected="two different states",
                    got=f"{show_json(fresh)} and {show_json(spent)}",
                )


@requirement("confirmation_tokens/7.3-status")
def test_a_token_is_called_fresh_as_long_as_it_serves(tokens):
    """At the very instant at which its end and the tolerance meet: what is said and what is done
    agree, whichever it is."""
    if not tokens.clock.stops:
        raise NotVerified("needs a clock that stands still where it is set", minor=True)
    issued = tokens.issue()
    fresh = _state(tokens, issued)
    tokens.move_to(tokens.last_instant(issued))
    said, outcome = _state(tokens, issued), tokens.redeem(issued)
    tokens.expect(
        (said == fresh) == outcome.executed,
        sent=f"introspection of a token {tokens.allowed_lateness:g} s after its end, then it",
        expected=f"{show_json(fresh)} if it serves, and another state if it does not",
        got=f"{show_json(said)}, then {outcome.describe()}",
    )


@requirement("confirmation_tokens/7.3-status")
def test_asking_changes_nothing(tokens):
    """A token that was asked about twice still serves."""
    issued = tokens.issue()
    once, twice = _state(tokens, issued), _state(tokens, issued)
    tokens.expect(
        once == twice,
        sent="introspection of a token, twice",
        expected="the same state",
        got=f"{show_json(once)}, then {show_json(twice)}",
    )
    tokens.expect_run(tokens.redeem(issued), sent="a token that was asked about")


def _revoke(kind, issued):
    kind.tokens.driver.revoke(issued.token, session=kind.session)


# What happens to a token (the first) while another one is there.
CONDITIONS = {
    "tried for other parameters": lambda kind, one, _: kind.send(one.with_params(kind.changed())),
    "tried without its last character": lambda kind, one, _: kind.send(
        one.with_token(one.token[:-1])
    ),
    "beside one that was used": lambda kind, _, other: kind.send(other),
    "beside one that was revoked": lambda kind, _, other: _revoke(kind, other),
    "used once": lambda kind, one, _: kind.send(one),
    "revoked": lambda kind, one, _: _revoke(kind, one),
}


@requirement("confirmation_tokens/7.3-status")
@pytest.mark.parametrize("name", FEW)
def test_a_used_token_of_any_kind_is_not_called_fresh(tokens, name):
    """When it has served as often as it may."""
    with tokens_of_kind(tokens, name) as kind:
        fresh, used = (_state(tokens, one, kind.session) for one in (kind.issue(), kind.used()))
        tokens.expect(
            fresh is None or used != fresh,
            sent=f"introspection of a fresh {name} token, and of one that is used up",
            expected="two different states",
            got=f"{show_json(fresh)} and {show_json(used)}",
        )


@requirement("confirmation_tokens/7.3-status")
@pytest.mark.parametrize("name", [FEW[0], SESSION])
def test_what_is_said_of_a_token_shows_in_its_use(tokens, name):
    """Said to be as a fresh one, it serves; said to be otherwise, it does not."""
    with tokens_of_kind(tokens, name) as kind, tokens.several() as several:
        fresh = _state(tokens, kind.issue(), kind.session)
        if fresh is None:
            raise NotVerified("needs introspection.state_at, where a token's state is told")
        for condition, happens in CONDITIONS.items():
            issued, other = kind.issue(), kind.issue()
            with contextlib.suppress(NotApplicable, NotVerified):
                happens(kind, issued, other)
            said = _state(tokens, issued, kind.session)
            sent = f"a {name} token, {condition}, that is said to be {show_json(said)}"
            with several.one(sent):
                if said == fresh:
                    tokens.expect_run(kind.redeem(issued), sent=sent)
                else:
                    tokens.expect_not_run(kind.attempt(issued), sent=sent)


@requirement("confirmation_tokens/7.3-status", needs=["introspection", "clock"])
@pytest.mark.parametrize("name", FEW)
def test_at_its_end_a_token_is_said_to_be_what_it_is(tokens, name):
    """Asked just before its last instant and just after it, and then tried."""
    with tokens_of_kind(tokens, name) as kind:
        issued = kind.issue()
        fresh = _state(tokens, issued, kind.session)
        if tokens.tolerance is not None:
            # Within the tolerance both are true: it has expired, and it still serves.
            near = tokens.move_inside(issued, issued.expires_at)
            tokens.expect(
                _state(tokens, issued, kind.session) == fresh,
                sent=f"introspection of a {name} token {near} before it expires",
                expected=f"{show_json(fresh)}, as at its issue",
                got=show_json(_state(tokens, issued, kind.session)),
            )
        late = tokens.move_beyond(issued)
        said = _state(tokens, issued, kind.session)
        tokens.expect(
            said != fresh,
            sent=f"introspection of a {name} token {late} after its last instant",
            expected="another state than at its issue",
            got=show_json(said),
        )


# ---- section 2.3: the payload, as far as it is shown


def _members(value):
    """Every member of an answer by its name, at whatever depth."""
    found = {}
    for name, one in value.items() if isinstance(value, dict) else ():
        found.update(_members(one))
        found[name] = one
    return found


def _payload(tokens, issued, session=None):
    if not tokens.table.introspection["status"]:
        raise NotVerified("needs introspection.status, the query that tells a token's state")
    return _members(_told(tokens, issued, session).body)


def _is_instant(tokens, value, instant, within):
    try:
        told = tokens.driver.binding.instant(value).at
    except ValueError:
        return False
    return abs((told - instant).total_seconds()) <= within


@requirement("confirmation_tokens/2.3-payload")
@pytest.mark.parametrize("kind", list(TokenType), ids=str)
def test_what_is_shown_of_a_token_is_true(tokens, kind):
    """Its type, its call and its instants, under the names that the document has for them."""
    if kind is TokenType.QUOTA:
        operation = tokens.with_("quota")
        with tokens.honest_step("the operation with a quota did not pause"):
            issued = tokens.driver.paused(operation.name, operation.params)
    else:
        issued = tokens.issue()
    now, shown = tokens.target.clock.now(), _payload(tokens, issued)
    checks = {
        "type": lambda value: value == kind,
        "operation": lambda value: value == issued.operation,
        "adapter_name": lambda value: isinstance(value, str) and bool(value.strip()),
        "issued_at": lambda value: _is_instant(tokens, value, now, tokens.slack),
        "expires_at": lambda value: _is_instant(tokens, value, issued.expires_at, 1),
        "consumed": lambda value: value is False,
    }
    if not shown.keys() & checks.keys():
        raise NotVerified("introspection shows nothing of the payload", minor=True)
    for name in checks.keys() & shown.keys():
        tokens.expect(
            checks[name](shown[name]),
            sent=f"introspection of a fresh token ({kind})",
            expected=f"{name} that is true of it",
            got=f"{name} {show_json(shown[name])}",
        )


@requirement("confirmation_tokens/2.3-payload")
def test_two_tokens_are_told_apart(tokens):
    """What is shown of one is not that of another: operations, parameters, adapters, ends."""
    tool = tokens.table.other_adapter.get("tool")
    shown = {"this": _payload(tokens, tokens.issue())}
    wanted: dict[str, tuple[str, ...]] = {}
    with contextlib.suppress(NotApplicable):
        shown["another operation"] = _payload(tokens, tokens.issue(tokens.second_operation()))
        wanted["another operation"] = ("operation", "params_hash")
    for change in tokens.operation.other_params:
        name = f"other parameters ({show_json(dict(change))})"
        given = {**tokens.operation.params, **change}
        shown[name] = _payload(tokens, tokens.issue(params=given))
        wanted[name] = ("params_hash",)
    if tool is not None:
        shown["another adapter"] = _payload(tokens, tokens.issue(tool=tool))
        wanted["another adapter"] = ("adapter_name",)
    with tokens.several() as several:
        for name, members in wanted.items():
            for member in members:
                if member in shown["this"] and member in shown[name]:
                    with several.one(f"{name}: {member}"):
                        tokens.expect(
                            shown["this"][member] != shown[name][member],
                            sent=f"introspection of a token, and of one for {name}",
                            expected=f"two different values of {member}",
                            got=f"{show_json(shown[name][member])} twice",
                        )


@requirement("confirmation_tokens/2.3-payload")
@pytest.mark.parametrize("name", FEW)
def test_uses_are_counted_as_they_are_made(tokens, name):
    """use_count, max_uses and consumed, where they are shown, after every use."""
    with tokens_of_kind(tokens, name) as kind:
        issued = kind.issue()
        for number in range(kind.uses + 1):
            shown = _payload(tokens, issued, kind.session)
            checks = {
                "use_count": number,
                "max_uses": kind.uses,
            }
            if number in (0, kind.uses):  # with uses left, both are a way to say it
                checks["consumed"] = number == kind.uses
            for member, expected in checks.items():
                if member in shown:
                    tokens.expect(
                        shown[member] == expected,
                        sent=f"introspection of a {name} token that was used {number} times",
                        expected=f"{member} {show_json(expected)}",
                        got=f"{member} {show_json(shown[member])}",
                    )
            if number < kind.uses:
                tokens.need_served(kind.redeem(issued))


@requirement("confirmation_tokens/2.3-payload")
def test_a_use_changes_the_use_alone(tokens):
    """Consumed becomes true; what the token was issued for stays as it was."""
    issued = tokens.issue()
    before = _payload(tokens, issued)
    if tokens.target.clock.movable:
        tokens.move_to(tokens.clock.now() + datetime.timedelta(seconds=30))
    tokens.need_served(tokens.redeem(issued))
    after = _payload(tokens, issued)
    if "consumed" in before and "consumed" in after:
        tokens.expect(
            after["consumed"] is True,
            sent="introspection of a token that was used",
            expected="consumed true",
            got=f"consumed {show_json(after['consumed'])}",
        )
    for name in ("type", "operation", "params_hash", "adapter_name", "issued_at", "expires_at"):
        if name in before and name in after:
            tokens.expect(
                before[name] == after[name],
                sent="introspection of a token, before and after its use",
                expected=f"the same {name}",
                got=f"{show_json(before[name])}, then {show_json(after[name])}",
            )

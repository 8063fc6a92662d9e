"""Confirmation tokens, section 5.5: room for a thousand, and no token for ever."""

import contextlib
import datetime
import time

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.confirmation_tokens.kinds import KINDS, SESSION, tokens_of_kind
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import CAPACITY, PURGE_WITHIN

_SECONDS = 60.0
"""In which a thousand tokens are asked for: slow servers and rate limits must not take minutes."""
_PATIENCE = 3.0
"""Seconds for a server that purges by its own timer."""


@requirement("confirmation_tokens/5.5-capacity")
def test_a_thousand_tokens_live_at_once(tokens):
    """After a thousand others the first one still serves, and one from the middle too."""
    tokens.honest()
    tokens.two()
    first = _one_of_each(tokens)
    issued = tokens.issue_many(CAPACITY + 1, _SECONDS)
    if tokens.lifetime(issued[0]) <= 0:
        raise NotVerified("the first token expired before a thousand were issued")
    middle = len(issued) // 2
    for name, one in {"first": 0, f"{middle}th": middle, "last": -1}.items():
        tokens.expect_run(
            tokens.redeem(issued[one]), sent=f"the {name} of {len(issued)} tokens that are alive"
        )
    for name, (kind, one) in first.items():
        if tokens.lifetime(one) > 0:  # a rate limit may have taken its time
            tokens.expect_run(
                kind.redeem(one), sent=f"a {name} token, after {len(issued)} others that are alive"
            )
    if len(issued) <= CAPACITY:
        raise NotVerified(
            f"{len(issued)} tokens were issued in {_SECONDS:.0f} s, and a capacity above that was "
            "not tried"
        )


def _one_of_each(tokens):
    """A token of every level, and one of a pause: as much alive as all others."""
    found = {}
    for name in KINDS:
        with contextlib.suppress(NotApplicable):
            if name != SESSION:
                with tokens_of_kind(tokens, name) as kind:
                    found[name] = (kind, kind.issue())
    return found


@requirement("confirmation_tokens/5.5-purge")
def test_expired_tokens_are_gone_within_the_hour(tokens):
    """Seen in the store: there while it is alive, gone an hour after it expired."""
    with tokens.showing_its_store() as other:
        issued = [other.issue() for _ in range(3)]
        kept = other.driver.binding.store_text()
        if not all(one.token in kept for one in issued):
            raise NotVerified("the store does not show the tokens that it holds")
        issued += _spent(other)
        last = max(issued, key=other.last_instant)
        late = other.last_instant(last) + datetime.timedelta(seconds=PURGE_WITHIN)
        other.move_to(late)
        other.honest()  # a server may tidy up when it has something to do
        left = _left(other, issued)
        other.expect(
            not left,
            sent=f"{len(issued)} tokens, looked for in the store an hour after they expired",
            expected="none of them",
            got=f"{len(left)} of them",
        )


def _spent(tokens):
    """Tokens of other kinds, and such as were tried, used and revoked: they are purged too."""
    found = [tokens.used()]
    with contextlib.suppress(NotApplicable, NotVerified):
        tried = tokens.issue()
        tokens.redeem(tried.with_params(tokens.changed()))
        found.append(tried)
    if tokens.table.introspection:
        revoked = tokens.issue()
        tokens.driver.revoke(revoked.token)
        found.append(revoked)
    for name in KINDS:
        with contextlib.suppress(NotApplicable), tokens_of_kind(tokens, name) as kind:
            found.append(kind.issue())
    return found


def _left(tokens, issued):
    give_up = time.monotonic() + (0 if tokens.clock.kind == "injected" else _PATIENCE)
    while True:
        kept = tokens.driver.binding.store_text()
        left = [one for one in issued if one.token in kept]
        if not left or time.monotonic() >= give_up:
            return left
        time.sleep(0.2)

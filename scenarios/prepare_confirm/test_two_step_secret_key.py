"""The key: random unless one is given, and never none."""

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.prepare_confirm.vocabulary import TwoStepReason
from pytest_mcp_approval.target import TargetError
from pytest_mcp_approval.wire import WireError

KEY = "one key that these scenarios give 51c0"
OTHER = "another key that these scenarios give 9d"


def _same_moment(*servers):
    """Set the clocks of servers that were started one after the other to the same time."""
    for one in servers:
        one.driver.listed()  # it runs from here on
    if all(one.target.clock.movable and one.target.clock.stops for one in servers):
        moment = max(one.target.clock.now() for one in servers)
        for one in servers:
            one.target.clock.move_to(moment)


def _fresh_preview(server, other):
    """A preview of things as a newly started server has them: so both have the same. If there are
    none yet, they are put in place at both."""
    try:
        return server.driver.prepare(server.pair)
    except DriverError:
        for one in (server, other):
            one.put_in_place(one.pair)
        return server.preview()


@requirement("prepare_confirm/secret-key")
def test_the_key_is_random_by_default(two_step):
    """Two servers that were told no key do not take each other's tokens."""
    if two_step.table.shared_key:
        raise NotApplicable("this server is started with a key (shared-key)")
    two_step.honest()
    one, other = two_step.twin(), two_step.twin()
    _same_moment(one, other)
    preview = _fresh_preview(one, other)
    outcome = other.driver.confirm(preview)
    two_step.expect(
        outcome.refused and not outcome.executed,
        sent=f"{preview.pair.confirm} at one server with the token of another, neither has a key",
        expected="success false, nothing done: each has a random key of its own",
        got=outcome.describe(),
    )
    if not outcome.meanings:
        two_step.warn(
            f"the token of another server: {outcome.describe()}; its words do not say that the "
            "token is not its own"
        )
    one.still_serves(preview, after="another server had refused it")


@requirement("prepare_confirm/secret-key")
def test_a_given_key_is_shared(two_step):
    """A server with the same key takes a token that was not used yet."""
    one, other = two_step.with_key(KEY), two_step.with_key(KEY)
    _same_moment(one, other)
    preview = _fresh_preview(one, other)
    outcome = other.driver.confirm(preview)
    if outcome.refused and not outcome.meanings:
        raise NotVerified(f"the token was taken, but what it names differs: {outcome.describe()}")
    other.expect_done(
        outcome, preview, sent=f"{preview.pair.confirm} at another server with the same key"
    )


@requirement("prepare_confirm/secret-key")
def test_another_key_is_another_key(two_step):
    one, other = two_step.with_key(KEY), two_step.with_key(OTHER)
    _same_moment(one, other)
    preview = _fresh_preview(one, other)
    other.expect_refusal(
        other.driver.confirm(preview),
        TwoStepReason.SIGNATURE,
        sent=f"{preview.pair.confirm} at a server with another key",
    )
    one.still_serves(preview, after="a server with another key had refused it")


LONG = "Key of These scenarios, 100 characters long: "
LONG += "x" * (99 - len(LONG)) + "1"
NEARLY = {
    "in another case": LONG.swapcase(),
    "that ends otherwise": f"{LONG[:-1]}2",
    "with other signs between its words": LONG.replace(",", ";"),
}


@requirement("prepare_confirm/secret-key")
def test_a_key_counts_to_its_last_character(two_step):
    """Keys that are nearly the same are others: no part of one is left out."""
    one = two_step.with_key(LONG)
    others = {name: two_step.with_key(key) for name, key in NEARLY.items()}
    _same_moment(one, *others.values())
    preview = _fresh_preview(one, next(iter(others.values())))
    with two_step.several() as several:
        for name, other in others.items():
            with several.one(name):
                other.expect_refusal(
                    other.driver.confirm(preview),
                    TwoStepReason.SIGNATURE,
                    sent=f"{preview.pair.confirm} at a server with a key {name}",
                )
    one.still_serves(preview, after="servers with nearly the same key had refused it")


@requirement("prepare_confirm/secret-key")
def test_an_empty_key_is_refused(two_step):
    """A server that is told an empty key does not start.

    Reading: an empty variable of the environment may count as none; then the key is random.
    """
    two_step.with_key(KEY).honest()
    one = two_step.with_key("")
    try:
        with two_step.may_not_start():
            one.driver.listed()
    except (TargetError, WireError):
        return
    other = two_step.with_key("")
    _same_moment(one, other)
    answer = one.driver.request_preview(one.pair, one.pair.arguments)
    token = answer.member(one.table.token)
    sent = f"{one.pair.prepare} on a server that was told an empty key"
    if not isinstance(token, str):
        return
    two_step.expect(
        not two_step.table.key_setting,
        sent=sent,
        expected="a server that does not start",
        got=answer.describe(),
    )
    outcome = other.driver.confirm(_fresh_preview(one, other))
    two_step.expect(
        outcome.refused and not outcome.executed,
        sent=f"{one.pair.confirm} at one server with the token of another, both with an empty key",
        expected="servers that do not start, or have a random key each",
        got=outcome.describe(),
    )

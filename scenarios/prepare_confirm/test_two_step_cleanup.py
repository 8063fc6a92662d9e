"""Used tokens are forgotten in the end, and unconfirmed ones take no room for ever."""

import datetime

from pytest_mcp_approval.catalogue import NotVerified, requirement

TIMES = 6
MANY = 60


def _held(two_step):
    """How many tokens the server remembers."""
    tool = two_step.table.held
    if not tool:
        raise NotVerified('needs held = "TOOL" in [prepare_confirm], which counts tokens held')
    answer = two_step.driver.call_tool(tool, {})
    for value in (answer.value or {}).values():
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, list):
            return len(value)
    raise NotVerified(f"{tool} shows no count: {answer.describe()}")


def _hours_later(two_step, hours):
    if not two_step.clock.stops:
        raise NotVerified("needs a clock that can be put ahead by hours")
    two_step.clock.move_to(two_step.clock.now() + datetime.timedelta(hours=hours))


@requirement("prepare_confirm/cleanup")
def test_used_tokens_are_forgotten_after_an_hour(two_step):
    """An hour after their use, or when they expire if that is later."""
    two_step.honest()
    _hours_later(two_step, 30)
    two_step.honest()
    before = _held(two_step)
    for _ in range(TIMES):
        two_step.honest()
    _hours_later(two_step, 1 + two_step.table.expiry_minutes / 60 + 0.1)
    two_step.honest()  # whatever is cleaned up on the way is cleaned up now
    after = _held(two_step)
    two_step.expect(
        after <= before,
        sent=f"{TIMES} confirmations, and one more when they are over an hour old",
        expected=f"at most {before} token(s) held",
        got=f"{after} held",
    )


@requirement("prepare_confirm/cleanup")
def test_what_is_never_confirmed_takes_no_room(two_step):
    """Anyone can prepare, as often as they like."""
    two_step.honest()
    _hours_later(two_step, 30)
    two_step.honest()
    before = _held(two_step)
    pairs = two_step.pairs()
    for pair in pairs:
        two_step.preview(pair)
        for _ in range(MANY // len(pairs)):
            two_step.driver.prepare(pair)
    _hours_later(two_step, 1 + two_step.table.expiry_minutes / 60 + 0.1)
    two_step.honest()
    after = _held(two_step)
    two_step.expect(
        after <= before,
        sent=f"{MANY} previews of {len(pairs)} pair(s), and none of it confirmed within an hour",
        expected=f"at most {before} token(s) held",
        got=f"{after} held",
    )

"""A log must not contain a token that its readers could use."""

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.base.logs import visible, watched_log


@requirement("prepare_confirm/not-logged")
def test_no_token_stands_whole_in_a_log(two_step):
    """Prepared, refused, used and used again: at no time does the log show it."""
    file = two_step.table.log
    if not visible(two_step.target, file):
        raise NotVerified('needs the server\'s log: log = "PATH" in [prepare_confirm]')
    two_step.honest()
    with watched_log(two_step.target, file) as log:
        for pair in two_step.pairs():
            for name, token in two_step.life_of_a_token(pair):
                two_step.expect(
                    not log.holds(token),
                    sent=f"a token of {pair.prepare}, {name}",
                    expected="a log without the whole token",
                    got="the whole token in the server's log",
                )
        log.need_whole()


@requirement("prepare_confirm/not-logged")
def test_no_token_stands_in_a_log_of_failures(two_step):
    """A back end that fails is logged, without what could be used to try again."""
    two_step.honest()
    other = two_step.with_back_end("fails")
    if not visible(other.target, other.table.log):
        raise NotVerified('needs the server\'s log: log = "PATH" in [prepare_confirm]')
    with watched_log(other.target, other.table.log) as log:
        for pair in other.pairs():
            preview = other.preview(pair)
            other.confirm(preview)
            two_step.expect(
                not log.holds(preview.token),
                sent=f"a token of {pair.prepare}, confirmed when the back end fails",
                expected="a log without the whole token",
                got="the whole token in the server's log",
            )
        log.need_whole()

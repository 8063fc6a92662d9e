"""A request waits, and does nothing by itself."""

from mcp_approval_two_person.vocabulary import Reason

from pytest_mcp_approval import requirement


@requirement("two_person/1-request-runs-nothing")
def test_a_request_alone_runs_nothing(two_person):
    two_person.need_effects()
    request, runs = two_person.driver.runs_during(two_person.request)
    two_person.expect(
        runs == 0,
        sent=f"a request for {two_person.table.action}",
        expected="that nothing runs",
        got="it ran" if runs is None else f"it ran {runs} times",
    )
    two_person.honest(request)


@requirement("two_person/5-expiry")
def test_a_request_dies_in_time(two_person):
    seconds = two_person.table.minutes * 60
    in_time, late = two_person.request(), two_person.request()
    two_person.clock.advance(seconds - 5)
    two_person.honest(in_time)
    two_person.clock.advance(10)
    two_person.expect_refusal(
        two_person.driver.approve(late),
        Reason.EXPIRED,
        sent=f"an approval {two_person.table.minutes} minutes and 5 seconds after the request",
    )

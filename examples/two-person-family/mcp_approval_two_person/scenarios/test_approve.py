"""Another person approves, once."""

from mcp_approval_two_person.vocabulary import Reason

from pytest_mcp_approval import requirement


@requirement("two_person/2-approved-once")
def test_an_approval_runs_the_action_once(two_person):
    request = two_person.request()
    outcome = two_person.honest(request)
    two_person.expect(
        outcome.served_once,
        sent="one approval",
        expected="that the action runs once",
        got=outcome.describe(),
    )
    two_person.expect_refusal(
        two_person.driver.approve(request),
        Reason.ALREADY_DONE,
        sent="the same approval once more",
    )


@requirement("two_person/3-wrong-pin")
def test_a_wrong_pin_runs_nothing(two_person):
    right = two_person.table.approver_pin
    request = two_person.request()
    with two_person.several() as several:
        wrong = {"unknown": f"{right}0", "too short": right[:-1], "with blanks": f" {right} "}
        for name, pin in wrong.items():
            with several.one(name):
                two_person.expect_refusal(
                    two_person.driver.approve(request, pin),
                    Reason.WRONG_PIN,
                    sent=f"an approval with a wrong PIN ({name})",
                )
    two_person.honest(request)


@requirement("two_person/4-second-person")
def test_nobody_approves_what_they_requested(two_person):
    request = two_person.request()
    two_person.expect_refusal(
        two_person.driver.approve(request, two_person.table.requester_pin),
        Reason.SAME_PERSON,
        sent="an approval with the PIN of the person who requested",
    )
    two_person.honest(request)


@requirement("two_person/6-guessing")
def test_five_wrong_pins_close_a_request(two_person):
    request = two_person.request()
    for _ in range(5):
        two_person.driver.approve(request, f"{two_person.table.approver_pin}0")
    two_person.expect_refusal(
        two_person.driver.approve(request),
        Reason.CLOSED,
        sent="the right PIN after five wrong ones",
    )
    two_person.honest()

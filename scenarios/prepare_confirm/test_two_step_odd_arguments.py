"""What a careless or hostile caller asks for: it is refused, or shown and done as shown."""

import datetime

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.base.exploration import is_internal_error
from pytest_mcp_approval.families.prepare_confirm.comparing import passed_on_unread
from pytest_mcp_approval.families.prepare_confirm.odd_arguments import BEYOND_DOUBLES, odd_calls
from pytest_mcp_approval.families.prepare_confirm.outcome import Preview
from pytest_mcp_approval.families.prepare_confirm.vocabulary import TwoStepReason

FORGED = (TwoStepReason.SIGNATURE, TwoStepReason.MALFORMED)


def _defaults(two_step, pair):
    schema = two_step.driver.listing().get(pair.prepare, {}).get("inputSchema")
    offered = schema.get("properties") if isinstance(schema, dict) else None
    return {
        name: one.get("default")
        for name, one in (offered if isinstance(offered, dict) else {}).items()
        if isinstance(one, dict)
    }


def _named(arguments, flags=()):
    """The things that are named, by themselves or in a list."""
    values = [value for name, value in arguments.items() if name not in flags]
    return {one for value in values for one in _texts(value)}


def _texts(value):
    if isinstance(value, str):
        return {value}
    return {one for one in value if isinstance(one, str)} if isinstance(value, list) else set()


@requirement("prepare_confirm/confirm-executes")
def test_odd_arguments_are_refused_or_done_as_shown(two_step):
    """Members left out, of another type, empty, twice, look-alike, special to some language.

    What is shown for them is done, and a flag that nobody set is not set. What names or shows
    something that is not named as safe is confirmed on the reference server only: a second
    instance of any other may work on the same back end. That the server's own code fails on them,
    or passes the word false on to the back end, is a warning.
    """
    remarks: dict[str, list[str]] = {}
    known = two_step.target.known_arguments  # of the reference server alone
    twin = two_step.target.twin() if known else None
    view = two_step if twin is None else two_step.over(twin, "a twin")
    with two_step.several() as several:
        for pair in view.pairs():
            view.honest(pair)
            safe = None if twin is not None else _named(pair.arguments)
            for odd in odd_calls(pair.arguments, _defaults(view, pair)):
                with several.one(f"{pair.prepare} {odd.name}"):
                    _expect_refused_or_done(view, pair, odd, safe, remarks)
            with (
                several.one(f"{pair.prepare} afterwards"),
                view.promised(sent=f"{pair.prepare}, after odd arguments", expected="a preview"),
            ):
                view.honest(pair)
    for what, names in remarks.items():
        two_step.warn(f"{what}: {', '.join(names[:3])} ({len(names)} in all)")


def _expect_refused_or_done(view, pair, odd, safe, remarks):
    view.put_in_place(pair)
    sent = f"{pair.prepare} {odd.name}"
    answer = view.driver.request_preview(pair, odd.arguments)
    if is_internal_error(answer.reply) and BEYOND_DOUBLES not in odd.name:
        remarks.setdefault("an internal error", []).append(sent)
    preview = Preview(pair, odd.means, answer, view.table)
    if answer.is_error or not isinstance(answer.member(view.table.token), str):
        return
    if safe is not None:
        flags = [name for name, value in pair.arguments.items() if isinstance(value, bool)]
        named = _named(odd.arguments, flags)
        if not preview.ids or not named.union(preview.ids) <= safe:
            return
    outcome = view.confirm(preview)
    if not outcome.executed and (outcome.refused or not outcome.answer.answered):
        return  # whether honest callers are served afterwards is asked at the end
    if unread := passed_on_unread(odd.means, outcome):
        remarks.setdefault("a flag that is passed on as it came", []).append(f"{sent} ({unread})")
    shown = set(preview.ids)
    if 0 < len(shown) == len(preview.ids):
        view.expect_done(outcome, preview, sent=f"{sent}, and {pair.confirm} with its token")
        return
    # Nothing was shown, or something twice.
    view.expect(
        outcome.runs is None or outcome.runs <= len(shown),
        sent=f"{sent}, and {pair.confirm} with its token",
        expected=f"{len(shown)} thing(s) done, as shown",
        got=outcome.describe(),
    )


@requirement(
    "prepare_confirm/one-time",
    "prepare_confirm/expired",
    "prepare_confirm/signature",
    "prepare_confirm/action-bound",
    needs=[],
)
def test_words_in_ids_decide_nothing(two_step):
    """Things may be called "Token has expired": why a token is refused does not depend on it."""
    two_step.honest()
    pair, arguments = max(two_step.awkward(need_not_be=True), key=lambda one: len(str(one[1])))
    preview = two_step.awkward_preview(pair, arguments)
    what = f"a token of {pair.prepare} on odd ids"
    late = None
    with two_step.several() as several:
        for other in [one for one in two_step.pairs() if one.name != pair.name]:
            with several.one("at another tool"):
                two_step.expect_refusal(
                    two_step.confirm(preview, pair=other),
                    TwoStepReason.WRONG_ACTION,
                    sent=f"{other.confirm} with {what}",
                )
        with several.one("with a broken signature"):
            two_step.expect_refusal(
                two_step.confirm(preview, f"{preview.token}0"),
                *FORGED,
                sent=f"{pair.confirm} with {what}, its signature broken",
            )
        with several.one("used"):
            two_step.expect_done(
                two_step.confirm(preview), preview, sent=f"{pair.confirm} with {what}"
            )
            late = two_step.awkward_preview(pair, arguments)
            two_step.driver.forget()
            two_step.expect_refusal(
                two_step.confirm(preview),
                TwoStepReason.USED,
                sent=f"{pair.confirm} with {what}, used before",
            )
        clock = two_step.target.clock
        if late is None or not (clock.movable and clock.stops):
            return
        with several.one("expired"):
            try:
                clock.move_to(late.expires_at + datetime.timedelta(seconds=1))
            except ValueError as error:
                raise NotVerified(f"the expiry cannot be read: {error}") from None
            two_step.expect_refusal(
                two_step.confirm(late),
                TwoStepReason.EXPIRED,
                sent=f"{pair.confirm} with {what}, expired",
            )

"""confirm_x: does what the preview listed, all of it and nothing else, and tells the truth."""

import json

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.prepare_confirm.settings import CONFIRMED

# ---- what was shown is done


@requirement("prepare_confirm/confirm-executes")
def test_what_was_shown_is_done(two_step):
    """Preview and result compared thing by thing, for every pair."""
    for pair in two_step.pairs() or [two_step.pair]:
        preview = two_step.preview(pair)
        outcome = two_step.confirm(preview)
        two_step.expect_done(outcome, preview, sent=f"{pair.confirm} with the preview's token")


@requirement("prepare_confirm/confirm-executes")
def test_force_is_what_it_was_in_the_preview(two_step):
    """The flag of the preview is the flag of the action."""
    pair = two_step.pair_with(
        "forced = { ... }, arguments with the force flag,", lambda p: p.forced, need_not_be=True
    )
    for arguments in (pair.forced, pair.arguments):
        preview = two_step.preview(pair, arguments)
        outcome = two_step.confirm(preview)
        two_step.expect_done(
            outcome, preview, sent=f"{pair.confirm}, prepared with {json.dumps(arguments)[:100]}"
        )


@requirement("prepare_confirm/confirm-executes", "prepare_confirm/signature")
def test_ids_of_any_spelling_come_through(two_step):
    """Ids with the separator, quotes, line breaks, braces: what the token carries is what comes
    out. What looks alike and was not shown is left alone."""
    two_step.honest()
    for pair, arguments in two_step.awkward():
        preview = two_step.awkward_preview(pair, arguments)
        outcome = two_step.confirm(preview)
        two_step.expect_done(
            outcome, preview, sent=f"{pair.confirm}, prepared with {json.dumps(arguments)[:100]}"
        )


@requirement("prepare_confirm/confirm-executes")
def test_very_many_things_are_done(two_step):
    """Ten thousand ids in one preview: all are shown and done, and the answer counts them right."""
    pair = two_step.pair_with("many = { ... }, very long arguments,", lambda p: p.many)
    other = two_step.target.twin()  # its effects would disturb every later check
    many = two_step if other is None else two_step.over(other, "a twin")
    patience, many.session.deadline = many.session.deadline, 6 * many.session.deadline
    many.make(pair.many_before)
    preview = many.preview(pair, pair.many)
    asked = max((len(one) for one in pair.many.values() if isinstance(one, list)), default=0)
    many.expect(
        len(preview.ids) >= asked,
        sent=f"{pair.prepare} on {asked} things",
        expected=f"{asked} items",
        got=f"{len(preview.ids)} items",
    )
    outcome = many.confirm(preview)
    many.session.deadline = patience
    many.expect_done(outcome, preview, sent=f"{pair.confirm} on {len(preview.ids)} things")
    many.expect_refusal(many.confirm(preview), sent=f"{pair.confirm} with the same token again")


# ---- what changed in between is reported


def _told(outcome, lost, sent, two_step, expected_most):
    """The answer admits what it did not do."""
    answer = json.dumps(outcome.answer.value, ensure_ascii=False) + outcome.answer.text
    claimed = outcome.claimed_count
    two_step.expect(
        not outcome.probed or outcome.runs is None or outcome.runs <= expected_most,
        sent=sent,
        expected=f"at most {expected_most} done",
        got=outcome.describe(),
    )
    two_step.expect(
        claimed is None or outcome.runs is None or claimed == outcome.runs,
        sent=sent,
        expected="the answer counts what was really done",
        got=outcome.describe(),
    )
    two_step.expect(
        claimed is None or claimed <= expected_most,
        sent=sent,
        expected=f"the answer counts at most {expected_most}",
        got=outcome.describe(),
    )
    two_step.expect(
        not any(one in (outcome.claimed_ids or []) for one in lost),
        sent=sent,
        expected=f"{', '.join(lost)} not among what was done",
        got=outcome.describe(),
    )
    reported = not outcome.succeeded or all(one in answer for one in lost)
    two_step.expect(
        reported,
        sent=sent,
        expected=f"{', '.join(lost)} reported as not done",
        got=outcome.describe(),
    )


@requirement("prepare_confirm/confirm-executes")
def test_what_has_vanished_is_not_counted(two_step):
    """Of two things that were shown one is gone by the time of the confirmation."""
    pair, name = two_step.pair_on_a_list()
    two_step.honest(pair)
    both = two_step.preview(pair)
    lost = pair.arguments[name][:1]
    first = two_step.preview(pair, {**pair.arguments, name: lost})
    if not two_step.confirm(first).succeeded:
        raise NotVerified("the first of two things could not be done alone")
    outcome = two_step.confirm(both)
    left = len(pair.arguments[name]) - 1
    sent = f"{pair.confirm} on {len(both.ids)} things, of which {lost[0]} was done meanwhile"
    _told(outcome, lost, sent, two_step, left)


@requirement("prepare_confirm/confirm-executes")
def test_nothing_is_done_where_nothing_is_left(two_step):
    """Two previews of the same thing; both tokens are good, but one of them comes too late."""
    pair = two_step.pairs_that_are(reversible=False)[0]
    two_step.honest(pair)
    first, second = two_step.preview(pair), two_step.preview(pair)
    if not two_step.confirm(first).succeeded:
        raise NotVerified("the first of two previews could not be confirmed")
    outcome = two_step.confirm(second)
    sent = f"{pair.confirm} on a second preview of what is gone by now"
    two_step.expect(
        not outcome.succeeded and not (outcome.probed and outcome.executed),
        sent=sent,
        expected="success false, nothing done, and the reason told",
        got=outcome.describe(),
    )


def _in_both_orders(arguments):
    """The same things, so that what changed is once the last and once the first of them."""
    turned = {
        name: value[::-1] if isinstance(value, list) else value for name, value in arguments.items()
    }
    return [arguments] if turned == dict(arguments) else [arguments, turned]


def _in_any_order(items):
    return sorted(json.dumps(one, sort_keys=True) for one in items)


@requirement("prepare_confirm/confirm-executes")
def test_what_has_changed_is_not_done_silently(two_step):
    """Something is no longer what the person saw when they agreed."""
    tried, still_changed = False, []
    for pair in two_step.pairs():
        if not pair.change:
            continue
        tried = True
        two_step.honest(pair)
        changed = json.dumps([call.arguments for call in pair.change], ensure_ascii=False)
        as_before = None
        for arguments in _in_both_orders(pair.arguments):
            preview = two_step.preview(pair, arguments)
            shown = _in_any_order(preview.items)
            if as_before not in (None, shown):
                still_changed.append(pair.name)
                break
            as_before = shown
            two_step.make(pair.change)
            lost = [one for one in preview.ids if json.dumps(one, ensure_ascii=False) in changed]
            outcome = two_step.confirm(preview)
            sent = f"{pair.confirm}, after {', '.join(lost)} had changed since the preview"
            two_step.disturbed()
            _told(outcome, lost, sent, two_step, len(preview.ids) - len(lost))
    if not tried:
        raise NotVerified("needs change = { tool, arguments }, which changes something shown")
    if still_changed:
        raise NotVerified(
            f"needs restore that undoes change, to change it a second time: {still_changed[0]}"
        )


# ---- what came in between is left alone


def _named_one_by_one(preview):
    """Whether the arguments spell out every thing that is listed."""
    spelled = json.dumps(preview.arguments, ensure_ascii=False)
    return all(json.dumps(one, ensure_ascii=False) in spelled for one in preview.ids)


@requirement("prepare_confirm/confirm-appeared")
def test_what_has_appeared_is_left_alone(two_step):
    """Something that the person has not seen is there by the time of the confirmation."""
    pairs = [pair for pair in two_step.pairs() if pair.appear]
    if not pairs:
        if all(_named_one_by_one(two_step.preview(pair)) for pair in two_step.pairs()):
            raise NotApplicable("everything is named one by one, so that nothing can come to it")
        raise NotVerified("needs appear = { tool, arguments }, which brings something new")
    for pair in pairs:
        two_step.honest(pair)
        preview = two_step.preview(pair)
        two_step.make(pair.appear)
        outcome = two_step.confirm(preview)
        sent = f"{pair.confirm}, after something new had come since the preview"
        if outcome.refused and not outcome.executed:
            continue  # a server may want a new preview then
        two_step.expect_done(outcome, preview, sent=sent)


# ---- what it is called


@requirement("prepare_confirm/confirm-executes")
def test_what_confirming_is_called(two_step):
    """A server's own names, given in the table, are reported once: here."""
    two_step.honest()
    own = two_step.table.own_names(CONFIRMED)
    own += [
        f"{pair.confirm} for confirm_{pair.name}"
        for pair in two_step.driver.pairs()
        if not pair.confirm.startswith("confirm_")
    ]
    if own:
        two_step.warn(f"not called as in the document: {', '.join(own)}")

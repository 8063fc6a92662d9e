"""Only what the server itself has signed counts, to the last byte."""

from pytest_mcp_approval.catalogue import Finding, NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.prepare_confirm.forging import (
    changed_at_each_place,
    cut_or_grown,
    forged_payloads,
    put_into,
    respelled,
)
from pytest_mcp_approval.families.prepare_confirm.vocabulary import TwoStepReason
from pytest_mcp_approval.support.deadline import Deadline

_SECONDS = 60.0
"""For all characters of a token: long tokens of a slow server must not take minutes."""
# Reading: a token that has lost its form may be called malformed instead.
FORGED = (TwoStepReason.SIGNATURE, TwoStepReason.MALFORMED)


@requirement("prepare_confirm/signature")
def test_no_byte_of_a_token_can_be_changed(two_step):
    """Each character in turn is replaced by its neighbour: payload, separator and signature."""
    two_step.honest()
    preview = two_step.preview()
    pair, whole = preview.pair, preview.token
    changes = list(changed_at_each_place(whole))
    calls = [(place, two_step.driver.confirm_params(pair, changed)) for place, changed in changes]
    deadline = Deadline(_SECONDS)

    def try_all():
        for place, params in calls:
            if deadline.passed:
                return
            reply = two_step.session.call("tools/call", params)
            yield place, two_step.driver.seen(pair, reply)

    # The effects are read once, at the end: reading them for each byte would take half the time.
    outcomes, runs, _ = two_step.driver.watch(lambda: list(try_all()))
    with two_step.several() as several:
        for place, outcome in outcomes:
            with several.one(f"character {place}"):
                two_step.expect_refusal(
                    outcome,
                    *FORGED,
                    sent=f"{pair.confirm}, character {place} of {len(whole)} of the token changed "
                    f"({whole[max(0, place - 8) : place]}[{whole[place]}])",
                )
    two_step.expect(
        runs in (0, None) if two_step.driver.effects is None else runs == 0,
        sent=f"{pair.confirm} with {len(outcomes)} changed tokens",
        expected="nothing done",
        got=f"{'something' if runs is None else runs} done",
    )
    if len(outcomes) < len(calls):
        raise NotVerified(
            f"{len(outcomes)} of {len(calls)} characters were changed in {_SECONDS:.0f} s, and the "
            "others were not tried"
        )


@requirement("prepare_confirm/signature")
def test_the_real_token_outlives_a_forgery(two_step):
    """Whoever knows a token's beginning must not be able to spoil it."""
    two_step.honest()
    preview = two_step.preview()
    for name, forged in cut_or_grown(preview.token).items():
        if two_step.confirm(preview, forged).executed:
            raise NotVerified(f"a token {name} was not refused")
    two_step.outlives_forgeries(preview)


@requirement("prepare_confirm/signature")
def test_a_token_in_parts_or_with_more_is_refused(two_step):
    """Unsigned, cut, doubled, with zeros for a signature."""
    two_step.honest()
    preview = two_step.preview()
    with two_step.several() as several:
        for name, forged in cut_or_grown(preview.token).items():
            with several.one(name):
                two_step.expect_refusal(
                    two_step.confirm(preview, forged),
                    *FORGED,
                    sent=f"{preview.pair.confirm} with the token {name}",
                )


@requirement("prepare_confirm/signature")
def test_the_tokens_of_every_pair_are_verified(two_step):
    """Whichever tool they are for, and however long: something put in, left out or swapped."""
    usual = {pair.name for pair in two_step.pairs()}
    cases = {kind.name: (kind.pair, kind.arguments) for kind in two_step.kinds()}
    longest = max(
        ((pair, one) for pair in two_step.pairs() for one in pair.awkward),
        key=lambda one: len(str(one[1])),
        default=None,
    )
    if longest is not None:
        cases[f"{longest[0].name}, on odd ids"] = longest
        two_step.make(longest[0].awkward_before)
    with two_step.several() as several:
        for name, (pair, arguments) in cases.items():
            two_step.honest(pair)
            preview = two_step.preview(pair, arguments)
            deep = name in usual or (longest is not None and arguments is longest[1])
            with several.one(name):
                two_step.expect_all_refused(
                    preview,
                    lambda one, deep=deep: {
                        **cut_or_grown(one.token),
                        **(put_into(one.token, one.ids) if deep else {}),
                    },
                    *FORGED,
                    what=f"a token of {pair.prepare} ({name})",
                )


@requirement("prepare_confirm/signature")
def test_a_token_spelled_otherwise_does_no_harm(two_step):
    """Blanks around it and the like: refused, or taken for the very token, and then used up."""
    two_step.honest()
    preview = two_step.preview()
    for name in respelled(preview.token):
        spelled = respelled(preview.token).get(name)
        if spelled is None:
            continue
        outcome = two_step.confirm(preview, spelled)
        if outcome.refused and not outcome.executed:
            continue
        two_step.expect_done(
            outcome, preview, sent=f"{preview.pair.confirm} with the token, {name}"
        )
        two_step.expect_refusal(
            two_step.confirm(preview),
            sent=f"{preview.pair.confirm} with the token, after it was taken with {name}",
        )
        two_step.warn(f"a token with {name} is taken for the token")
        preview = two_step.preview()


@requirement("prepare_confirm/signature", needs=["payload"])
def test_a_payload_of_ones_own_is_refused(two_step):
    """Other things, another nonce, a later expiry: under the old signature, a plain hash, or keys
    that anyone would guess."""
    two_step.honest()
    preview = two_step.preview()
    try:
        forgeries = forged_payloads(preview.token, "another-thing")
    except ValueError as error:
        raise NotVerified(f"the token is not payload|signature: {error}") from None
    with two_step.several() as several:
        for name, forged in forgeries.items():
            with several.one(name):
                two_step.expect_refusal(
                    two_step.confirm(preview, forged),
                    *FORGED,
                    sent=f"{preview.pair.confirm} with a token {name}",
                )
    two_step.outlives_forgeries(preview)


@requirement("prepare_confirm/signature", needs=["payload"])
def test_the_payload_ends_at_the_last_separator(two_step):
    """An id with the separator in it: the signature is what follows the last one, and everything
    before it is signed."""
    sets = [
        (pair, one)
        for pair in two_step.pairs()
        for one in pair.awkward
        if "|" in str(list(one.values()))
    ]
    if not sets:
        raise NotVerified("needs awkward = [{ ... }] with an id that contains |, in pairs.NAME")
    pair, arguments = min(sets, key=lambda one: len(str(one[1])))
    two_step.honest(pair)
    preview = two_step.awkward_preview(pair, arguments)
    first = preview.token.index("|")
    for place, changed in changed_at_each_place(preview.token):
        if not first - 3 <= place <= first + 12:
            continue
        two_step.expect_refusal(
            two_step.confirm(preview, changed),
            *FORGED,
            sent=f"{pair.confirm} on an id with |, character {place} of the token changed",
        )
    outcome = two_step.confirm(preview)
    two_step.expect_done(outcome, preview, sent=f"{pair.confirm} on an id that contains |")


@requirement("prepare_confirm/signature")
def test_a_token_of_another_server_is_refused(two_step):
    """A twin signs with its own key."""
    if two_step.table.shared_key:
        raise NotApplicable("twins have the same key here (shared-key)")
    two_step.honest()
    foreign = two_step.twin().preview()
    outcome = two_step.confirm(foreign)
    try:
        two_step.expect_refusal(
            outcome,
            TwoStepReason.SIGNATURE,
            sent=f"{foreign.pair.confirm} with the token of a twin",
        )
    except Finding:
        if outcome.executed or not outcome.refused:
            raise
        # Reading: a server that looks tokens up by their text may say that it does not know it.
        two_step.warn(f"a twin's token: {outcome.describe()}")

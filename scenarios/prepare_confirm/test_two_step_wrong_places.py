"""A confirmation goes by its token, and takes the token from its own place: nothing beside it."""

import json

from pytest_mcp_approval.catalogue import NotVerified, requirement

INSIDE = ("data", "payload", "params", "arguments", "args", "input")
"""Names under which a careless server may look for arguments in the call itself."""
FLAGS = (
    *("confirm", "confirmed", "approve", "approved", "yes", "force", "skip_confirmation"),
    *("bypass", "admin", "override", "no_preview"),
)
"""Words that might do instead of a token. None of them stands in the document."""


def _other_arguments(pair):
    """Others of the same pair that are safe, too."""
    return pair.forced or pair.sso or _fewer(pair.arguments) or next(iter(pair.awkward), None)


def _fewer(arguments):
    """The same on one thing less: as safe as all of them."""
    for name, value in arguments.items():
        if isinstance(value, list) and len(value) > 1:
            return {**arguments, name: value[:-1]}
    return None


def _beside(pair, others):
    """What may stand beside the token: all at once, and each alone."""
    alone = {
        "other arguments": dict(others),
        **{f"other arguments in {name}": {name: dict(others)} for name in INSIDE},
        "a payload": {"payload": {"action": pair.name, "data": dict(others)}},
    }
    together = {name: value for one in reversed(alone.values()) for name, value in one.items()}
    return {"other arguments in every place": together}, alone


@requirement("prepare_confirm/confirm-executes")
def test_confirming_takes_no_arguments_of_its_own(two_step):
    """Arguments beside the token name other things and another flag: they do not count.

    A server may ignore them or refuse the call; it may not act on them.
    """
    tried = False
    for pair in two_step.pairs():
        others = _other_arguments(pair)
        if others is None:
            continue
        tried = True
        two_step.honest(pair)
        two_step.make(pair.awkward_before)
        together, alone = _beside(pair, others)
        preview = two_step.preview(pair)
        if not _tried_beside(two_step, preview, together):
            _tried_beside(two_step, preview, alone)
    if not tried:
        raise NotVerified("needs forced = { ... }, other arguments that are safe, in pairs.NAME")


def _tried_beside(two_step, preview, beside):
    """Whether the calls were served, and so ended the token; one that is refused proves less."""
    pair = preview.pair
    for name, more in beside.items():
        outcome = two_step.confirm(preview, more=more)
        if outcome.refused and not outcome.executed:
            continue
        two_step.expect_done(
            outcome,
            preview,
            sent=f"{pair.confirm} with the token and {name} beside it: {json.dumps(more)[:100]}",
        )
        return True
    return False


@requirement("prepare_confirm/action-bound")
def test_naming_another_action_does_not_help(two_step):
    """A token at another pair's tool, with the action that would fit beside it."""
    for one, other in two_step.crossings():
        two_step.put_in_place(other)
        preview = two_step.preview(one)
        named = dict.fromkeys(("action", "operation", "tool", "type", "data"), other.name)
        more = {**named, "payload": {"action": other.name}, "data": {"action": other.name}}
        sent = f"{other.confirm} with a token of {one.prepare} and action {other.name} beside it"
        two_step.expect_refusal(
            two_step.confirm(preview, pair=other, more=more), sent=sent, plain_form=False
        )
        two_step.still_serves(preview, after=f"{other.confirm} had refused it")


@requirement("prepare_confirm/missing-token")
def test_a_word_does_not_stand_in_for_a_token(two_step):
    """The arguments of prepare, and everything that may mean yes: nothing was shown, so nothing is
    done."""
    for pair in two_step.pairs() or [two_step.pair]:
        two_step.honest(pair)
        two_step.put_in_place(pair)
        schema = two_step.driver.listing().get(pair.confirm, {}).get("inputSchema") or {}
        offered = schema.get("properties") if isinstance(schema, dict) else None
        flags = [
            name
            for name, one in (offered if isinstance(offered, dict) else {}).items()
            if isinstance(one, dict) and one.get("type") == "boolean"
        ]
        for words in (dict.fromkeys(flags, True), dict.fromkeys((*FLAGS, *flags), True)):
            outcome = two_step.submit(pair, {**words, **pair.arguments})
            two_step.expect_refusal(
                outcome,
                sent=f"{pair.confirm} with the arguments of {pair.prepare}, no token, and yes in "
                f"{len(words)} ways",
                plain_form=False,
            )


@requirement("prepare_confirm/missing-token")
def test_a_real_token_wrapped_in_something_is_no_token(two_step):
    """In a list or an object: a clear error. Under another name the document has no token either;
    a server that takes it from there gets a warning."""
    two_step.honest()
    preview = two_step.preview()
    pair, token, argument = preview.pair, preview.token, two_step.table.token_argument
    wrapped = {
        "in a list": [token],
        "twice in a list": [token, token],
        "in an object": {"token": token, argument: token, "value": token, "0": token},
        "in a list in a list": [[token]],
    }
    with two_step.several() as several:
        for name, value in wrapped.items():
            with several.one(name):
                outcome = two_step.confirm(preview, value)
                sent = f"{pair.confirm} with a real token {name}"
                two_step.expect_refusal(outcome, sent=sent, plain_form=False)
                two_step.expect_clear(outcome, sent=sent)
    elsewhere = {
        name: token for name in ("token", "confirmationToken", argument.upper()) if name != argument
    }
    outcome = two_step.driver.submit(
        pair, {"name": pair.confirm, "arguments": elsewhere, "_meta": {argument: token}}
    )
    if outcome.executed or outcome.succeeded:
        two_step.disturbed()
        two_step.warn(f"{pair.confirm} takes a token from other places than {argument}")
        return
    two_step.still_serves(preview, after="it had come in other places, and was refused")

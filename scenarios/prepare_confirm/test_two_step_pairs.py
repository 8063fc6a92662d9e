"""Each pair warns of what is special about it."""

import re

from pytest_mcp_approval.catalogue import NotVerified, requirement

FINAL = re.compile(
    r"permanent|irreversib|irrevocab|for ?ever|can(not|'t| not) be (undone|reversed|restored|"
    r"recovered)|no way back|unrecoverable",
    re.IGNORECASE,
)
WAY_BACK = re.compile(r"revers|re-?open|restor|undo\b|undone|re-?activ|un-?archiv|again", re.I)
SSO = re.compile(
    r"\bsso\b|single[ -]sign|external(ly)?\W+(\w+\W+)?(auth|sign|identit)|\bidp\b", re.I
)


def _warnings(preview):
    """All of them, without the names of things: a user may well be called sso."""
    text = " / ".join(preview.warnings)
    for name in preview.ids:
        text = text.replace(name, "...")
    return text


@requirement("prepare_confirm/pairs")
def test_what_cannot_be_undone_says_so(two_step):
    """Deleting is for ever, and the person who agrees has to know."""
    pairs = [pair for pair in two_step.pairs() if pair.reversible is False]
    if not pairs:
        raise NotVerified("needs an irreversible pair that may be run")
    for pair in pairs:
        preview = two_step.preview(pair)
        two_step.expect(
            bool(FINAL.search(_warnings(preview))),
            sent=f"{pair.prepare} with its safe arguments",
            expected="a warning that it cannot be undone",
            got=f"warnings: {_warnings(preview)}",
        )


@requirement("prepare_confirm/pairs")
def test_what_can_be_undone_says_how(two_step):
    """Closing is not the end: its warnings are weaker, and name the way back."""
    pairs = [pair for pair in two_step.pairs() if pair.reversible]
    if not pairs:
        raise NotVerified("needs a reversible pair that may be run")
    for pair in pairs:
        warnings = _warnings(two_step.preview(pair))
        two_step.expect(
            bool(WAY_BACK.search(warnings)) and not FINAL.search(warnings),
            sent=f"{pair.prepare} with its safe arguments",
            expected="a warning that names the way back, and none that there is no way back",
            got=f"warnings: {warnings}",
        )


@requirement("prepare_confirm/pairs")
def test_what_can_be_undone_is_undone(two_step):
    """The way back leads back: afterwards the same can be prepared and done once more."""
    pair = two_step.pair_with("undo = { tool, arguments }, the way back,", lambda p: p.undo)
    two_step.honest(pair)
    two_step.make(pair.undo)
    answer = two_step.driver.request_preview(pair, pair.arguments)
    two_step.expect(
        isinstance(answer.member(two_step.table.token), str),
        sent=f"{pair.prepare}, after {pair.confirm} and {pair.undo[0].tool}",
        expected="a preview as before",
        got=answer.describe(),
    )


@requirement("prepare_confirm/pairs")
def test_a_user_who_signs_in_elsewhere_is_told_apart(two_step):
    """The warning is there for an SSO user, and for nobody else."""
    pair = two_step.pair_with("sso = { ... }, arguments on an SSO user,", lambda p: p.sso)
    elsewhere = _warnings(two_step.preview(pair, pair.sso))
    two_step.expect(
        bool(SSO.search(elsewhere)),
        sent=f"{pair.prepare} on an SSO user",
        expected="a warning that it is an SSO user",
        got=f"warnings: {elsewhere}",
    )
    here = _warnings(two_step.preview(pair))
    two_step.expect(
        not SSO.search(here),
        sent=f"{pair.prepare} on a user who is none of SSO's",
        expected="no warning of SSO",
        got=f"warnings: {here}",
    )


@requirement("prepare_confirm/pairs")
def test_every_confirm_tool_has_its_prepare_tool(two_step):
    """A confirm tool without a preview would be confirmed by nobody who saw anything."""
    listed = two_step.driver.listed()
    known = {pair.confirm for pair in two_step.driver.pairs()}
    alone = [
        name
        for name in listed
        if name.startswith("confirm_")
        and name not in known
        and any(one.startswith("prepare_") for one in listed)
        and f"prepare_{name.removeprefix('confirm_')}" not in listed
    ]
    two_step.expect(
        not alone,
        sent="tools/list",
        expected="a prepare_x for every confirm_x",
        got=f"alone: {', '.join(alone[:5])}",
    )

"""Each pair warns of what is special about it."""

import re

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.support.text import neutralise

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


def _calls_that_are(two_step, *, reversible):
    """Every way to call such a pair: forced, it is no less final."""
    names = {pair.name for pair in two_step.pairs_that_are(reversible=reversible)}
    return [(kind.pair, kind.arguments) for kind in two_step.kinds() if kind.pair.name in names]


@requirement("prepare_confirm/pairs")
def test_what_cannot_be_undone_says_so(two_step):
    """Deleting is for ever, and the person who agrees has to know."""
    for pair, arguments in _calls_that_are(two_step, reversible=False):
        warnings = _warnings(two_step.preview(pair, arguments))
        _expect_warning(
            two_step,
            pair,
            bool(FINAL.search(warnings)),
            "a warning that it cannot be undone",
            warnings,
        )


def _expect_warning(two_step, pair, holds, expected, warnings):
    """If only the name suggests what a pair does, other warnings are no failure."""
    if pair.guessed and not holds:
        word = "reversible" if pair.reversible else "irreversible"
        two_step.warn(
            f"{pair.prepare} warns: {warnings}; expected {expected}, if it is {word}, as its name "
            f"suggests (reversible = ... in pairs.{pair.name})"
        )
        return
    two_step.expect(
        holds,
        sent=f"{pair.prepare} with its safe arguments",
        expected=expected,
        got=f"warnings: {warnings}",
    )


@requirement("prepare_confirm/pairs")
def test_what_can_be_undone_says_how(two_step):
    """Closing is not the end: its warnings are weaker, and name the way back."""
    for pair, arguments in _calls_that_are(two_step, reversible=True):
        warnings = _warnings(two_step.preview(pair, arguments))
        _expect_warning(
            two_step,
            pair,
            bool(WAY_BACK.search(warnings)) and not FINAL.search(warnings),
            "a warning that names the way back, and none that there is no way back",
            warnings,
        )


@requirement("prepare_confirm/pairs")
def test_what_can_be_undone_is_undone(two_step):
    """Undoing works: afterwards the same can be prepared and done once more."""
    two_step.pairs_that_are(reversible=True)
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
    pair = two_step.pair_with(
        "sso = { ... }, arguments on an SSO user,", lambda p: p.sso, need_not_be=True
    )
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
    """Without a preview nobody sees what a confirm tool will do. A name alone proves nothing:
    confirm_address may be no second step."""
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
    if alone:
        two_step.warn(
            f"no prepare_x for {', '.join(neutralise(name, 40) for name in alone[:5])}: "
            "is it a second step without a first?"
        )

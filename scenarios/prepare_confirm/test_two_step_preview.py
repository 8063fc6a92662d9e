"""prepare_x: shows everything, changes nothing."""

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.prepare_confirm.settings import PREPARED, is_opposite
from pytest_mcp_approval.wire.reply import show_json

# ---- what it answers


def _text(value):
    return isinstance(value, str) and bool(value.strip())


MEMBERS = {
    "action": (
        "the text preview",
        lambda preview: preview.answer.member(preview.table.action) == "preview",
    ),
    "operation": (
        "a text that names what the tool does",
        lambda preview: (
            _text(preview.answer.member(preview.table.operation))
            and not is_opposite(preview.answer.member(preview.table.operation), preview.pair.name)
        ),
    ),
    "items": ("a list of what it concerns", lambda preview: bool(preview.items)),
    "warnings": (
        "a list of texts",
        lambda preview: bool(preview.warnings) and all(map(_text, preview.warnings)),
    ),
    "confirmation_token": ("a text", lambda preview: _text(preview.token)),
    "next_step": (
        "a text that names the confirm tool",
        lambda preview: preview.pair.confirm in str(preview.answer.member(preview.table.next_step)),
    ),
}


@requirement("prepare_confirm/preview")
@pytest.mark.parametrize("member", MEMBERS)
def test_a_preview_has_its_members(two_step, member):
    """What a person, and the model that asks them, needs to see before they agree."""
    expected, holds = MEMBERS[member]
    for pair in two_step.pairs() or [two_step.pair]:
        preview = two_step.preview(pair)
        two_step.expect(
            holds(preview),
            sent=f"{pair.prepare} with its safe arguments",
            expected=f"{member}: {expected}",
            got=preview.answer.describe(),
        )


@requirement("prepare_confirm/preview")
def test_a_preview_says_until_when(two_step):
    """An instant with a time zone: without one nobody knows when it is."""
    for pair in two_step.pairs() or [two_step.pair]:
        preview = two_step.preview(pair)
        try:
            preview.expires_at  # noqa: B018  # reading it is the test
            problem = ""
        except (ValueError, OverflowError, OSError) as error:
            problem = str(error)
        two_step.expect(
            not problem,
            sent=f"{pair.prepare} with its safe arguments",
            expected=f"{preview.table.expires}: an instant in ISO 8601 with its time zone",
            got=problem,
        )
        shown = preview.answer.member(preview.table.expires)
        if not isinstance(shown, str):
            two_step.warn(f"{pair.prepare}: {preview.table.expires} is {shown}, not ISO 8601")


def _named(value):
    """The texts in lists among the arguments: what a caller named one by one."""
    for one in value.values():
        if isinstance(one, list):
            yield from (name for name in one if isinstance(name, str))


@requirement("prepare_confirm/preview")
def test_a_preview_lists_what_was_asked_for(two_step):
    """Thing by thing: nothing is left out, and nothing is added."""
    compared = False
    for pair in two_step.pairs() or [two_step.pair]:
        asked = sorted(set(_named(pair.arguments)))
        if not asked:
            continue
        compared = True
        preview = two_step.preview(pair)
        two_step.need_shown(preview, asked)
        two_step.expect(
            sorted(preview.ids) == asked,
            sent=f"{pair.prepare} on {', '.join(asked[:4])}",
            expected=f"{len(asked)} item(s) with just these ids",
            got=f"items {', '.join(preview.ids[:4])} ({len(preview.ids)})",
        )
    if not compared:
        raise NotApplicable("no pair that may be run takes a list of what it concerns")


@requirement("prepare_confirm/preview")
def test_a_preview_shows_odd_ids_as_they_are(two_step):
    """Two ids that differ in a blank, a sign or their last letter are shown as two ids: else a
    person agrees to another one."""
    with two_step.several() as several:
        for pair, arguments in two_step.awkward(need_not_be=True):
            asked = sorted(set(_named(arguments)))
            if not asked:
                continue
            preview = two_step.awkward_preview(pair, arguments)
            two_step.need_shown(preview, asked)
            wrong = [one for one in asked if one not in preview.ids]
            others = [one for one in preview.ids if one not in asked]
            with several.one(pair.prepare):
                two_step.expect(
                    sorted(preview.ids) == asked,
                    sent=f"{pair.prepare} on {len(asked)} odd id(s)",
                    expected="items with just these ids",
                    got=f"{len(preview.ids)} items; {show_json(wrong[:3])} shown as "
                    f"{show_json(others[:3])}",
                )


@requirement("prepare_confirm/preview-details")
def test_an_item_has_details(two_step):
    """An id tells a person nothing: a name, an address, a state do."""
    for pair in two_step.pairs() or [two_step.pair]:
        for item in two_step.preview(pair).items:
            details = item if isinstance(item, dict) else {}
            two_step.expect(
                len([one for one in details.values() if one not in (None, "", [], {})]) > 1,
                sent=f"{pair.prepare} with its safe arguments",
                expected="items that are objects with more than an id",
                got=f"an item {show_json(item)}",
            )


@requirement("prepare_confirm/preview-details")
def test_the_details_are_those_of_now(two_step):
    """Something changes, and a second preview is asked for: it does not show what was before."""
    tried = False
    for pair in two_step.pairs():
        if not (pair.change and pair.change_shown):
            continue
        tried = True
        first = two_step.preview(pair)
        two_step.make(pair.change)
        two_step.disturbed()
        answer = two_step.driver.request_preview(pair, pair.arguments)
        shown = answer.member(two_step.table.items)
        # A server may refuse to prepare what has become impossible by the change.
        two_step.expect(
            shown is None or shown != first.items,
            sent=f"{pair.prepare} again, after something shown had changed",
            expected="other items than before, or no preview",
            got=f"the same items: {show_json(shown)}",
        )
    if not tried:
        raise NotVerified(
            "needs change = { ... } and change-shown = true: it changes something that is shown",
            minor=True,
        )


@requirement("prepare_confirm/preview")
def test_what_a_preview_is_called(two_step):
    """A server's own names, given in the table, are reported once: here."""
    two_step.preview()
    own = two_step.table.own_names(PREPARED)
    own += [
        f"{pair.prepare} for prepare_{pair.name}"
        for pair in two_step.driver.pairs()
        if not pair.prepare.startswith("prepare_")
    ]
    if own:
        two_step.warn(f"not called as in the document: {', '.join(own)}")


# ---- what it does not do


@requirement("prepare_confirm/preview")
@pytest.mark.parametrize("times", [1, 5])
def test_preparing_does_nothing(two_step, times):
    """However often something is prepared, nothing has happened yet."""
    two_step.need_effects()
    for pair in two_step.pairs() or [two_step.pair]:
        two_step.put_in_place(pair)
        two_step.driver.forget()
        _, runs, _ = two_step.driver.watch(
            lambda pair=pair: [two_step.driver.prepare(pair) for _ in range(times)]
        )
        two_step.expect(
            runs == 0,
            sent=f"{pair.prepare} {times} time(s), and no confirm",
            expected="nothing done",
            got=f"{'something' if runs is None else runs} done",
        )
        two_step.honest(pair)  # the twin: the probe does show what a confirmation does


@requirement("prepare_confirm/preview")
def test_what_was_prepared_can_be_prepared_again(two_step):
    """A preview takes nothing away: the second one shows the same."""
    for pair in two_step.pairs() or [two_step.pair]:
        first = two_step.preview(pair)
        answer = two_step.driver.request_preview(pair, pair.arguments)
        shown = answer.member(two_step.table.items)
        two_step.expect(
            shown == first.items,
            sent=f"{pair.prepare} twice, and no confirm",
            expected="the same items both times",
            got=answer.describe(),
        )

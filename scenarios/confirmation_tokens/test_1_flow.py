"""Confirmation tokens, section 1.3: ask first, run with the token."""

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CONFIRMATION_REQUIRED,
    Danger,
)
from pytest_mcp_approval.wire.reply import show_json

GATED = [Danger.DESTRUCTIVE, Danger.DANGEROUS, Danger.FORBIDDEN]


@requirement("confirmation_tokens/1.3-flow")
@pytest.mark.parametrize("level", GATED, ids=lambda level: level.word)
def test_a_gated_operation_waits_for_its_token(tokens, level):
    """The first call runs nothing and returns a token, the second one runs the operation."""
    operation = tokens.of_level(level)
    first = tokens.driver.call(operation.name, operation.params)
    tokens.expect(
        not first.executed and first.answer.means(CONFIRMATION_REQUIRED),
        sent=f"{operation.name} ({level.word}) without a token",
        expected=f"{CONFIRMATION_REQUIRED}, operation not run",
        got=first.describe(),
    )
    tokens.expect_run(
        tokens.redeem(tokens.issue(operation)),
        sent=f"{operation.name} ({level.word}) again, with the token of the first answer",
    )


SHOWN_IN = ("arguments", "params", "parameters")


@requirement("confirmation_tokens/1.3-flow")
def test_what_runs_is_what_was_confirmed(tokens):
    """The operation gets the parameters of the call that was confirmed.

    Reading: the document does not say what effects show, and a server may write a value in another
    form. So other parameters, where an effect shows any, are a warning.
    """
    tokens.honest()
    for operation in tokens.usual_operations():
        _, entries = tokens.redeem_and_look(tokens.issue(operation))
        for entry in filter(lambda one: isinstance(one, dict), entries):
            shown = [entry[name] for name in SHOWN_IN if isinstance(entry.get(name), dict)]
            if shown and not all(one.items() >= operation.params.items() for one in shown):
                tokens.warn(
                    f"{operation.name}, confirmed with {show_json(dict(operation.params))}: run "
                    f"with {show_json(shown[0])}"
                )


SPELLINGS = {
    "in capitals": str.upper,
    "with a capital": str.title,
    "with a blank at its end": lambda name: f"{name} ",
    "with a blank in front": lambda name: f" {name}",
    "with a line end": lambda name: f"{name}\n",
    "with a zero byte": lambda name: f"{name}\0",
    "with a slash": lambda name: f"{name}/",
    "with hyphens": lambda name: name.replace("_", "-"),
    "with dots": lambda name: name.replace("_", "."),
    "without its separators": lambda name: name.replace("_", ""),
    "with a wide letter": lambda name: chr(ord(name[0]) + 0xFEE0) + name[1:],
    "with a percent escape": lambda name: f"%{ord(name[0]):02x}{name[1:]}",
}


@requirement("confirmation_tokens/1.3-flow")
def test_no_way_of_asking_runs_a_gated_operation(tokens):
    """Without a token: every named operation with any of its parameters, at any adapter, and by any
    other spelling of its name."""
    call = tokens.driver.binding.call_params
    tool = tokens.table.other_adapter.get("tool")
    calls = {}
    for one in tokens.table.operations:
        if not one.gated:
            continue
        for change in ({}, *one.other_params):
            sent = f"{one.name} with {show_json(dict(change))} without a token"
            calls[sent] = call(one.name, {**one.params, **change})
        if tool is not None:
            calls[f"{one.name} at another adapter without a token"] = call(
                one.name, one.params, tool=tool
            )
    first = tokens.operation
    for how, spell in SPELLINGS.items():
        odd = spell(first.name)
        if odd != first.name:
            calls[f"{first.name} {how} without a token"] = call(odd, first.params)
    tokens.expect_nothing_runs(calls)
    tokens.honest()


@requirement("confirmation_tokens/1.3-flow")
def test_a_harmless_operation_runs_no_other(tokens):
    """Its parameters name a gated one, in every way that a server might read; it runs itself at
    most."""
    harmless = [one for one in tokens.table.operations if one.danger < GATED[0] and not one.quota]
    if not harmless:
        raise NotApplicable("no operation of level 0 or 1 is named in operations")
    gated = tokens.operation
    names = ("operation", "op", "name", "action", "method", "tool", "operation_name")
    more = {name: gated.name for name in names if name not in harmless[0].params}
    params = {**gated.params, **more, "params": dict(gated.params), **harmless[0].params}
    call = tokens.driver.binding.call_params(harmless[0].name, params)
    reply, seen = tokens.driver.seen_during(lambda: tokens.driver.send(call))
    if seen is None or seen[1].entries is None or seen[0].entries is None:
        raise NotVerified("needs effects that name what ran", minor=True)
    new = seen[1].entries[len(seen[0].entries) :]
    runs = seen[1].runs_since(seen[0])
    ran = [entry for entry in new if isinstance(entry, dict) and gated.name in entry.values()]
    tokens.expect(
        not ran and runs in (0, 1),
        sent=f"{harmless[0].name} with parameters that name {gated.name}",
        expected=f"{harmless[0].name} run at most",
        got=f"{reply.describe()}, {gated.name} run",
    )
    tokens.honest()


@requirement("confirmation_tokens/1.3-flow")
def test_asking_again_runs_nothing_either(tokens):
    """However often somebody asks: every answer has a token, and nothing runs.

    Whether the same unused token is returned again is up to the server.
    """
    operation = tokens.operation
    tokens.honest()
    (asked, runs) = tokens.driver.runs_during(lambda: [tokens.issue() for _ in range(5)])
    tokens.expect(
        runs == 0 if tokens.driver.effects is not None else runs is None,
        sent=f"{operation.name} five times without a token",
        expected="five answers with a token, operation not run",
        got=f"{len(asked)} tokens, operation run {'?' if runs is None else runs} times",
    )
    tokens.expect_run(
        tokens.redeem(asked[-1]), sent=f"{operation.name} with the last of five tokens"
    )


@requirement("confirmation_tokens/1.3-flow")
@pytest.mark.parametrize("level", [Danger.SAFE, Danger.REVERSIBLE], ids=lambda level: level.word)
def test_a_harmless_operation_needs_no_token(tokens, level):
    """Levels 0 and 1 run at once, or after a confirmation: asking more often breaks nothing."""
    named = [one for one in tokens.table.operations if one.danger is level and not one.quota]
    if not named:
        raise NotApplicable(f"no operation of level {level.word} is named in operations")
    outcome = tokens.driver.call(named[0].name, named[0].params)
    if outcome.answer.means(CONFIRMATION_REQUIRED) and not outcome.executed:
        tokens.note(f"{named[0].name} ({level.word}) wants a confirmation, too")
        outcome = tokens.redeem(tokens.issue(named[0]))
    tokens.expect(
        outcome.succeeded,
        sent=f"{named[0].name} ({level.word})",
        expected="success, at once or with a token",
        got=outcome.describe(),
    )


@requirement("confirmation_tokens/1.3-flow")
def test_a_token_that_carries_its_payload_serves_like_any_other(tokens):
    """Where the server can issue both: a confirmed call runs, each time."""
    tokens.honest()
    with tokens.variant("signed", True) as other:
        for number in (1, 2):
            sent = f"signed token {number} of 2, confirmed"
            with other.promised(sent=sent, expected="a token, and a run"):
                issued = other.issue()
            other.expect_run(other.redeem(issued), sent=sent)

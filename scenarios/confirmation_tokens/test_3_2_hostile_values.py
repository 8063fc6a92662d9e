"""Confirmation tokens, section 3.2: values that look alike to careless code are bound apart.

A token is asked for with one value and presented with the other. Nothing that the user did not name
is run on a server that binds parameters: one that does not is told so first, and tried no further.
"""

import contextlib
from collections.abc import Mapping

import pytest

from pytest_mcp_approval.catalogue import Finding, Grade, NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.decoder import values_in
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.base.hostile_values import A_FEW_NAMES, pairs_of, shifted
from pytest_mcp_approval.families.base.paths import put_at, value_at
from pytest_mcp_approval.families.confirmation_tokens.outcome import is_limit
from pytest_mcp_approval.families.confirmation_tokens.settings import NamedOperation
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CONFIRMATION_REQUIRED,
    TokenCode,
)
from pytest_mcp_approval.support.text import neutralise
from pytest_mcp_approval.wire import RawJson
from pytest_mcp_approval.wire.reply import show_json

KINDS: dict[str, type | tuple[type, ...]] = {
    "text": str,
    "truth value": bool,
    "number": (int, float),
    "list": list,
    "object": Mapping,
}


def _bound(tokens):
    """The operations that have other parameters, if one of them was seen to bind its own; of those
    with the same parameters, one."""
    changed = tokens.changed()
    tokens.honest()
    tokens.expect_refusal(
        tokens.redeem(tokens.issue().with_params(changed)),
        TokenCode.SCOPE_MISMATCH,
        sent=f"{tokens.operation.name} with a token for other parameters",
    )
    found: dict[str, NamedOperation] = {}
    for one in tokens.usual_operations():
        if one.other_params:
            found.setdefault(show_json(dict(one.params), 2000), one)
    return list(found.values())


def _parameter(tokens, kind):
    """The first parameter of this type that the user named another value for."""
    wanted = KINDS[kind]
    for operation in _bound(tokens):
        named = {name for change in operation.other_params for name in change}
        for name, value in operation.params.items():
            truth = isinstance(value, bool)
            if name in named and isinstance(value, wanted) and truth == (kind == "truth value"):
                return operation, name, value
    raise NotApplicable(f"no operation has other-params for a {kind}")


class _Attempt:
    """A token for one call, presented with another."""

    def __init__(self, name, operation, first, second, members, *, alike):
        self.name, self.operation = name, operation
        self.first, self.second, self.members, self.alike = first, second, members, alike

    def issued(self, tokens):
        """None if the server does not take such a value, which is its right."""
        call = tokens.driver.binding.call_params(self.operation.name, self.first)
        try:
            reply = tokens.driver.patiently(call)
            return tokens.driver.issued(self.operation.name, self.first, reply)
        except DriverError:
            return None

    @property
    def sent(self):
        shown = ", ".join(_shown(self.second[name]) for name in self.members)
        return f"{self.operation.name} with {shown} and a token for another value ({self.name})"


def _shown(value):
    written = value.text if isinstance(value, RawJson) else show_json(value)
    return neutralise(str(written), 60)


def _judge(tokens, attempts):
    """All at first without a look at each one's effects; whoever was served is tried once more."""
    asked = [(one, one.issued(tokens)) for one in attempts]
    given = [(one, issued.with_params(one.second)) for one, issued in asked if issued is not None]
    if not given:
        raise NotApplicable("the target takes none of these values")
    calls = [tokens.driver.redeem_params(issued) for _, issued in given]
    replies, runs = tokens.driver.runs_during(lambda: [tokens.driver.send(one) for one in calls])
    answers = [tokens.driver.binding.read(reply) for reply in replies]
    if any(is_limit(*one) for one in zip(replies, answers, strict=True)):
        raise NotVerified("the target's rate limit was reached, so not all values were tried")
    quiet = runs == 0 if tokens.driver.effects is not None else True
    with tokens.several() as several:
        for (one, _), answer in zip(given, answers, strict=True):
            if answer.success or not quiet:
                with several.one(one.name):
                    _expect_apart(tokens, one)


def _expect_apart(tokens, attempt):
    issued = attempt.issued(tokens)
    if issued is None:
        return
    outcome, entries = tokens.redeem_and_look(issued.with_params(attempt.second))
    if not outcome.executed and not outcome.succeeded:
        return
    if attempt.alike and not _acted_on(entries, attempt):
        tokens.note(f"taken for the same: {attempt.name}")
        return
    raise Finding(
        sent=attempt.sent,
        expected=f"{TokenCode.SCOPE_MISMATCH} or another refusal, operation not run",
        got=outcome.describe(),
        grade=Grade.RAN,
    )


def _acted_on(entries, attempt):
    """Whether the effects show the second value as it was sent."""
    shown = [one for entry in entries for one in values_in(entry)]
    return any(
        name in attempt.members and show_json(value) == show_json(attempt.second[name])
        for name, value in shown
        if not isinstance(attempt.second.get(name), RawJson)
    )


@requirement("confirmation_tokens/3.2-bound-parameters")
@pytest.mark.parametrize("kind", KINDS)
def test_values_that_look_alike_are_bound_apart(tokens, kind):
    """For a parameter of each type: spellings, types, lengths, depths."""
    operation, name, value = _parameter(tokens, kind)
    attempts = [
        _Attempt(
            pair.name,
            operation,
            {**operation.params, name: pair.first},
            {**operation.params, name: pair.second},
            (name,),
            alike=pair.alike,
        )
        for pair in pairs_of(value)
    ]
    _judge(tokens, attempts)
    tokens.honest(operation)


@requirement("confirmation_tokens/3.2-bound-parameters")
def test_no_text_moves_from_one_parameter_to_another(tokens):
    """Two parameters that come to the same if they are written one after the other."""
    for operation in _bound(tokens):
        texts = [name for name, value in operation.params.items() if isinstance(value, str)]
        if len(texts) > 1:
            break
    else:
        raise NotApplicable("no operation with two texts among its parameters is named")
    one, two = texts[:2]
    values = operation.params
    attempts = [
        _Attempt(
            pair.name,
            operation,
            {**values, one: pair.first[0], two: pair.first[1]},
            {**values, one: pair.second[0], two: pair.second[1]},
            (one, two),
            alike=False,
        )
        for pair in shifted((one, values[one]), (two, values[two]))
    ]
    swapped = {**values, one: values[two], two: values[one]}
    attempts += [
        _Attempt("values that are swapped", operation, values, swapped, (one, two), alike=False)
    ]
    _judge(tokens, attempts)
    tokens.honest(operation)


@requirement("confirmation_tokens/3.2-bound-parameters")
def test_what_is_left_out_is_not_filled_in(tokens):
    """Each text that was there at issue, left out alone. A server may have a default for it; the
    effects then show that it acted on the value that the token is for."""
    with tokens.several() as several:
        for operation in _bound(tokens):
            critical = {name for change in operation.other_params for name in change}
            for name, value in operation.params.items():
                if not isinstance(value, str) or name not in critical:
                    continue
                less = {key: one for key, one in operation.params.items() if key != name}
                sent = f"{operation.name} without {name!r}, and a token for all of it"
                with several.one(sent):
                    _expect_whole(tokens, operation, name, value, less, sent)
    tokens.honest()


def _expect_whole(tokens, operation, name, value, less, sent):
    outcome, entries = tokens.redeem_and_look(tokens.issue(operation).with_params(less))
    if not outcome.executed and not outcome.succeeded:
        return
    told = not entries or _shows(entries, name, value)
    if told or not _is_usually_shown(tokens, operation, name, value):
        tokens.note(f"{sent}: served")
        return
    raise Finding(
        sent=sent,
        expected=f"{TokenCode.SCOPE_MISMATCH} or another refusal, operation not run",
        got=outcome.describe(),
        grade=Grade.RAN,
    )


def _shows(entries, name, value):
    return (name, value) in [one for entry in entries for one in values_in(entry)]


def _is_usually_shown(tokens, operation, name, value):
    """Whether the effects of an honest run show this parameter."""
    _, entries = tokens.redeem_and_look(tokens.issue(operation))
    return _shows(entries, name, value)


@requirement("confirmation_tokens/3.2-bound-parameters")
def test_of_two_members_of_one_name_the_confirmed_one_is_acted_on(tokens):
    """JSON parsers take the first or the last. Whichever it is, the token is for what runs."""
    binding = tokens.driver.binding
    with tokens.several() as several:
        for operation in _bound(tokens):
            for change in operation.other_params:
                for name, other in change.items():
                    own = operation.params.get(name)
                    if not isinstance(other, str) or not isinstance(own, str):
                        continue
                    for values in ((own, other), (other, own)):
                        texts = [show_json(one) for one in values]
                        twice = RawJson(f'{texts[0]},"{name}":{texts[1]}')
                        issued = tokens.issue(operation)
                        sent = f"{operation.name} with {name!r} twice: {', '.join(texts)}"
                        with several.one(sent):
                            _expect_confirmed(
                                tokens,
                                issued.with_params({**operation.params, name: twice}),
                                other,
                                sent,
                            )
    with contextlib.suppress(NotApplicable):
        _two_operations(tokens, binding)
    tokens.honest()


def _expect_confirmed(tokens, issued, other, sent):
    outcome, entries = tokens.redeem_and_look(issued)
    shown = [value for entry in entries for _, value in values_in(entry)]
    tokens.expect(
        other not in shown,
        sent=sent,
        expected="a refusal, or a run with the value that the token is for",
        got=f"{outcome.describe()} with {_shown(other)}",
    )


def _two_operations(tokens, binding):
    """The same for the operation's name."""
    second, issued = tokens.second_operation(), tokens.issue()
    place = tokens.table.operation_at
    member = place.rpartition(".")[2]
    for names in ((issued.operation, second.name), (second.name, issued.operation)):
        issued = tokens.issue()
        call = binding.call_params(issued.operation, issued.params, issued.token)
        texts = [show_json(one) for one in names]
        put_at(call, place, RawJson(f'{texts[0]},"{member}":{texts[1]}'))
        reply, seen = tokens.driver.seen_during(
            lambda call=call: tokens.driver.session.call("tools/call", call)
        )
        if seen is None:
            return
        new = (seen[1].entries or ())[len(seen[0].entries or ()) :]
        ran = [value for entry in new for _, value in values_in(entry)]
        tokens.expect(
            second.name not in ran,
            sent=f"the operation twice, {' and '.join(names)}, with a token of {issued.operation}",
            expected=f"a refusal, or a run of {issued.operation}",
            got=f"{reply.describe()}, {second.name} run",
        )


@requirement("confirmation_tokens/3.2-bound-parameters")
def test_what_stands_elsewhere_is_not_acted_on(tokens):
    """Other values beside the parameters, in _meta, or under names that differ in case: refused, or
    the operation runs with what was confirmed."""
    with tokens.several() as several:
        for operation in _bound(tokens):
            texts = {
                name: value
                for change in operation.other_params
                for name, value in change.items()
                if isinstance(value, str) and isinstance(operation.params.get(name), str)
            }
            for where, place in {"beside": "arguments", "in _meta": "_meta", "in": ""}.items():
                named = {**({name.upper(): v for name, v in texts.items()} if not place else texts)}
                named = {n: v for n, v in named.items() if place or n not in operation.params}
                issued = tokens.issue(operation)
                call = tokens.driver.redeem_params(issued)
                path = place or tokens.table.params_at
                already = value_at(call, path)
                kept = already if isinstance(already, dict) else {}
                put_at(call, path, {**kept, **{n: v for n, v in named.items() if n not in kept}})
                sent = f"{operation.name}, its token, and {show_json(named)} {where} its parameters"
                with several.one(sent):
                    _expect_own(tokens, operation, texts, call, sent)
    tokens.honest()


def _expect_own(tokens, operation, texts, call, sent):
    reply, seen = tokens.driver.seen_during(lambda: tokens.driver.send(call))
    if seen is None:
        return
    new = (seen[1].entries or ())[len(seen[0].entries or ()) :]
    shown = [pair for entry in new for pair in values_in(entry) if pair[0] in texts]
    wrong = [pair for pair in shown if pair[1] != operation.params[pair[0]]]
    tokens.expect(
        not wrong,
        sent=sent,
        expected="a refusal, or a run with the values that the token is for",
        got=f"{reply.describe()}, run with {show_json(dict(wrong))}",
    )


@requirement("confirmation_tokens/1.3-flow")
def test_special_members_open_no_gate(tokens):
    """Members whose names mean something to a language: before them, with them and after them the
    operation runs with its token only."""
    operation = tokens.operation
    tokens.honest()
    confirmed = {
        "confirmed": True,
        "consumed": False,
        "gated": False,
        "danger_level": "safe",
        tokens.table.token_at.rpartition(".")[2]: "conf_a1b2c3d4e5f6g7h8",
    }
    more = {
        **dict.fromkeys(A_FEW_NAMES, confirmed),
        "confirmed": True,
        "skip_confirmation": True,
        "danger_level": "safe",
        "danger": 0,
    }
    call = tokens.driver.binding.call_params
    tokens.expect_nothing_runs(
        {
            f"{operation.name} without a token, with a member {name!r}": call(
                operation.name, {**operation.params, name: value}
            )
            for name, value in more.items()
        }
    )
    afterwards = tokens.driver.call(operation.name, operation.params)
    tokens.expect(
        afterwards.answer.means(CONFIRMATION_REQUIRED) and not afterwards.executed,
        sent=f"{operation.name} without a token, after calls with special members",
        expected=f"{CONFIRMATION_REQUIRED}, operation not run",
        got=afterwards.describe(),
    )
    tokens.honest()

"""Confirmation tokens, sections 3.3, 4.2 and 6.3: what an answer says, and what it must not."""

import secrets

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.base.decoder import values_in
from pytest_mcp_approval.families.confirmation_tokens.kinds import FEW, tokens_of_kind
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import is_token
from pytest_mcp_approval.support.text import neutralise
from pytest_mcp_approval.wire.reply import show_json


def _refused(tokens, kind):
    """Refusals of this kind of token, each with what was sent."""
    unknown = kind.issue().with_token(kind.issue().kind.prefix + secrets.token_hex(24))
    yield "a token that was never issued", unknown, kind.attempt(unknown)
    cut = kind.issue()
    cut = cut.with_token(cut.token[:-1])
    yield "a token without its last character", cut, kind.attempt(cut)
    used = kind.used()
    yield "a token that was used", used, kind.attempt(used)
    if kind.operation.other_params:
        other = kind.issue().with_params(kind.changed())
        yield "a token for other parameters", other, kind.attempt(other)
    if tokens.target.clock.movable:
        expired = kind.issue()
        tokens.move_beyond(expired)
        yield "a token that has expired", expired, kind.attempt(expired)


@requirement("confirmation_tokens/4.2-refusal")
@pytest.mark.parametrize("name", FEW[:2])
def test_a_refusal_says_what_it_should_and_no_other_token(tokens, name):
    """While other tokens for the very call are alive, none of them is given away."""
    with tokens_of_kind(tokens, name) as kind, tokens.several() as several:
        kind.honest()
        for sent, attempt, outcome in _refused(tokens, kind):
            answer = outcome.answer
            with several.one(f"{sent}: success"):
                tokens.expect(
                    answer.found.get("success", False) is False and not answer.success,
                    sent=f"{sent} ({name})",
                    expected="success false",
                    got=f"success {show_json(answer.get('success'))}",
                )
            with several.one(f"{sent}: message"):
                message = answer.get("message")
                own = tokens.table.fields["message"]
                said = isinstance(message, str) and bool(message.strip())
                tokens.expect(
                    said or outcome.reply.error is not None,
                    sent=f"{sent} ({name})",
                    expected=f"{own} as a text",
                    got=show_json(message),
                )
            with several.one(f"{sent}: tokens"):
                told = {one for _, one in values_in(answer.body) if is_token(one)}
                tokens.expect(
                    told <= {attempt.token},
                    sent=f"{sent} ({name})",
                    expected="no other token than the one that was sent",
                    got=f"a refusal with {', '.join(neutralise(one, 90) for one in told)}",
                )


@requirement("confirmation_tokens/3.3-required-response")
def test_each_first_answer_is_about_its_own_call(tokens):
    """Asked for in turns: each answer has the operation and level of its own call. Its words may
    change with time."""
    tokens.honest()
    seen: dict[tuple[str, int], dict[str, object]] = {}
    with tokens.several() as several:
        for _ in range(2):
            for operation in tokens.usual_operations():
                for number, change in enumerate(({}, *operation.other_params[:1])):
                    given = {**operation.params, **change}
                    answer = tokens.issue(operation, given).answer
                    told = {name: answer.get(name) for name in ("operation", "danger_level")}
                    sent = f"{operation.name} with {show_json(dict(change))}, in turn with others"
                    with several.one(sent):
                        first = seen.setdefault((operation.name, number), told)
                        tokens.expect(
                            told["operation"] == operation.name and told == first,
                            sent=sent,
                            expected=f"the details of this call: {show_json(first, 200)}",
                            got=show_json(told, 200),
                        )


@requirement("confirmation_tokens/3.3-required-response")
def test_what_a_person_reads_goes_with_the_parameters(tokens):
    """Two calls of one operation that differ in a text are asked for in different words; otherwise
    nobody knows what they agree to. The document shows it in its example, and has no MUST for
    it."""
    alike = []
    for operation in tokens.usual_operations():
        named = [one for one in operation.other_params if any(map(_is_name, one.values()))]
        if not named:
            continue
        usual = _question(tokens.issue(operation).answer)
        others = {
            _question(tokens.issue(operation, {**operation.params, **one}).answer) for one in named
        }
        if others == {usual}:
            alike.append(f"{operation.name}: {neutralise(usual, 80)}")
    if not any(one.other_params for one in tokens.usual_operations()):
        raise NotApplicable("no other parameters of an operation are named (other-params)")
    if alike:
        tokens.warn(f"asks the same, whatever the parameters: {'; '.join(alike)}")


def _is_name(value):
    return isinstance(value, str)


def _question(answer):
    return f"{answer.get('confirmation_message')} {answer.get('reasons')}"

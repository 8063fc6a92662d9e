"""The published vector, for those who write a verifier in another language."""

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.families.execution_tokens.token_making import (
    FAULTY_SIGNING,
    Names,
    canonical,
    sign,
)


def _with_the_published_secret(executions):
    """A verifier with the secret test_hmac_secret."""
    if sign(words.VECTOR_SECRET, canonical(words.VECTOR_TOKEN, Names())) != words.VECTOR_SIGNATURE:
        raise AssertionError("the suite itself does not give the published HMAC")
    return executions.with_secret(words.VECTOR_SECRET)


def _like_the_vector(other, **more):
    """Its ids and its scope; a future expiry, and a content that exists."""
    return other.token(
        action=words.VECTOR_TOKEN[words.SCOPE][words.ACTION_TYPE],
        hosts=["api.github.com"],
        token_id=words.VECTOR_TOKEN[words.TOKEN_ID],
        nonce=words.VECTOR_TOKEN[words.NONCE],
        **more,
    )


@requirement("execution_tokens/test-vector")
def test_the_fields_of_the_vector_are_accepted(executions):
    other = _with_the_published_secret(executions)
    for name in ("a line end after it", "Z for +00:00", "compact JSON"):
        other.expect_refused(
            other.execute(
                _like_the_vector(other, signing=FAULTY_SIGNING[name]), action="exec_unfamiliar"
            ),
            sent=f"the vector's fields with a live expiry, {name} signed",
        )
    other.expect_accepted(
        other.execute(_like_the_vector(other), action="exec_unfamiliar"),
        sent="the vector's fields with a live expiry and a known content, secret test_hmac_secret",
    )


@requirement("execution_tokens/test-vector")
def test_the_vector_itself_is_not_refused_for_its_signature(executions):
    """It has expired, and nobody knows its content. The reason tells whether its HMAC was right."""
    other = _with_the_published_secret(executions)
    vector = {**words.VECTOR_TOKEN, words.SIGNATURE: words.VECTOR_SIGNATURE}
    forged = {**vector, words.SIGNATURE: words.VECTOR_SIGNATURE[::-1]}
    right = other.execute(vector, action="exec_unfamiliar")
    wrong = other.execute(forged, action="exec_unfamiliar")
    sent = "the published vector, with its published signature"
    other.expect_refused(wrong, sent="the published vector, its signature backwards")
    other.expect_refused(right, sent=f"{sent}, long after its expiry and with another content")
    if right.reason is None or wrong.reason is None:
        raise NotApplicable("the verifier gives no reasons, and need not")
    other.expect(
        right.reason != wrong.reason,
        sent=sent,
        expected="refused for its expiry or content, not for what a wrong signature is refused for",
        got=right.describe(),
    )

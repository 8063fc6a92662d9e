"""A server's database must not contain a token that its readers could use."""

import base64
import contextlib

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.base import probes
from pytest_mcp_approval.families.base.logs import holds_whole


def _secrets(two_step, token):
    """The token; and its signature, where it is known which part of it that is: the payload says
    nothing that the server does not know anyway."""
    yield "the whole token", token
    if two_step.table.payload and "|" in token:
        signature = token.rpartition("|")[2]
        yield "the token's signature", signature
        with contextlib.suppress(ValueError):
            as_bytes = bytes.fromhex(signature)
            yield "the token's signature", base64.b64encode(as_bytes).decode().rstrip("=")


@requirement("prepare_confirm/not-stored")
def test_no_token_is_kept_in_a_database(two_step):
    """Prepared, refused, used and used again: at no time is it among what the server keeps."""
    two_step.honest()
    for pair in two_step.pairs():
        for name, token in two_step.life_of_a_token(pair):
            _expect_not_kept(two_step, token, f"a token of {pair.prepare}, {name}")


def _expect_not_kept(two_step, token, sent):
    with two_step.honest_step("what the server keeps could not be read"):
        kept = probes.text(two_step.target, two_step.table.store)
    if not kept.strip("[]{} \n"):
        raise NotVerified(f"store shows nothing at all: {two_step.table.store}")
    found = [what for what, one in _secrets(two_step, token) if holds_whole(kept, one)]
    two_step.expect(
        not found,
        sent=sent,
        expected="a store without the token",
        got=f"{' and '.join(dict.fromkeys(found))} in what the server keeps",
    )


@requirement("prepare_confirm/not-stored")
def test_what_failed_is_not_kept_for_later(two_step):
    """A back end that fails is no reason to keep the token, as if to try again."""
    two_step.honest()
    other = two_step.with_back_end("fails")
    for pair in other.pairs():
        preview = other.preview(pair)
        other.confirm(preview)
        sent = f"a token of {pair.prepare}, confirmed when the back end fails"
        _expect_not_kept(other, preview.token, sent)

"""Tokens of the documented format: a payload that can be read, a |, and a signature."""

import datetime
import json

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    PAYLOAD_MEMBERS,
    read_payload,
    split_token,
)


def _payload(two_step, preview):
    try:
        return read_payload(split_token(preview.token)[0])
    except ValueError as error:
        two_step.expect(
            False,
            sent=f"{preview.pair.prepare} with its safe arguments",
            expected=f"a token payload|signature, the payload with {', '.join(PAYLOAD_MEMBERS)}",
            got=str(error),
        )


@requirement("prepare_confirm/token-format")
def test_a_token_is_a_payload_and_a_signature(two_step):
    for pair in two_step.pairs() or [two_step.pair]:
        preview = two_step.preview(pair)
        payload = _payload(two_step, preview)
        signature = split_token(preview.token)[1]
        two_step.expect(
            bool(payload.action) and bool(payload.nonce) and len(signature) >= 32,
            sent=f"{pair.prepare} with its safe arguments",
            expected="an action, a nonce, and a signature of 128 bits or more",
            got=f"action {payload.action!r}, nonce {payload.nonce!r}, signature {signature!r}",
        )


@requirement("prepare_confirm/token-format")
def test_a_token_says_what_the_preview_says(two_step):
    """The same things, and the same end.

    Reading: an operation's own lifetime may be shorter than the configured one (a warning)."""
    life = 60 * two_step.table.expiry_minutes
    for pair in two_step.pairs() or [two_step.pair]:
        preview = two_step.preview(pair)
        payload = _payload(two_step, preview)
        sent = f"{pair.prepare} with its safe arguments"
        try:
            shown = preview.expires_at
        except ValueError as error:
            raise NotVerified(f"the expiry cannot be read: {error}") from None
        written = datetime.datetime.fromtimestamp(payload.expires_at, datetime.UTC)
        two_step.expect(
            abs((written - shown).total_seconds()) <= 1,
            sent=sent,
            expected=f"expires_at as shown, {shown.isoformat()}",
            got=f"expires_at {written.isoformat()}",
        )
        lived = payload.expires_at - payload.issued_at
        two_step.expect(
            0 < lived <= life + 1,
            sent=sent,
            expected=f"{life:g} s between issued_at and expires_at",
            got=f"{lived:g} s",
        )
        if lived < life - 1:
            two_step.warn(f"{sent}: {lived:g} s between issued_at and expires_at, not {life:g} s")
        data = json.dumps(payload.data, ensure_ascii=False)
        missing = [one for one in preview.ids if json.dumps(one, ensure_ascii=False) not in data]
        two_step.expect(
            not missing,
            sent=sent,
            expected="data that name everything that was shown",
            got=f"{', '.join(missing[:4])} not in {data[:120]}",
        )


@requirement("prepare_confirm/token-format")
def test_every_token_has_a_nonce_of_its_own(two_step):
    pair = two_step.preview().pair
    nonces = {_payload(two_step, two_step.driver.prepare(pair)).nonce for _ in range(20)}
    two_step.expect(
        len(nonces) == 20,
        sent=f"{pair.prepare} 20 times with the same arguments",
        expected="20 different nonces",
        got=f"{len(nonces)} different ones",
    )

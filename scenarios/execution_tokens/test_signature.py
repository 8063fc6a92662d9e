"""Nothing but the whole signature of just these fields, under the right secret."""

import hashlib
import hmac
import random
import uuid

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.execution_tokens.token_making import canonical
from pytest_mcp_approval.families.execution_tokens.vocabulary import VECTOR_SECRET

FIELDS = ("token_id", "nonce", "expires_at", "signature")
INNER = ("action_type", "allowed_hosts", "content_hash", "limit")


def _flips(text):
    """The text with one bit changed, for every bit of it."""
    for place, letter in enumerate(text):
        for bit in range(7):
            other = chr(ord(letter) ^ (1 << bit))
            yield f"bit {bit} of character {place + 1}", text[:place] + other + text[place + 1 :]


def _same_meaning(field, before, after):
    """Hexadecimal digits in another case may be read as the same, those of a UUID too. So may a
    blank for a leading zero: Python's own UUIDs are read like that."""
    digits = ("signature", "content_hash", "token_id", "nonce")
    return field in digits and before.lower() in (after.lower(), after.lower().replace(" ", "0", 1))


def _some(executions, cases):
    """All of them if asking is quick; else a few, the same in every run."""
    cases, most = list(cases), executions.verifier.samples
    if most is None or most >= len(cases):
        return cases
    return random.Random(6).sample(cases, most)


@requirement("execution_tokens/signature")
def test_every_bit_of_every_field_counts(executions):
    """One token, presented with each of its bits flipped; then as it was."""
    names = executions.table.names
    token = executions.token()
    cases = {}
    for field in FIELDS:
        value = token[names[field]]
        for what, other in _some(executions, _flips(value)):
            if not _same_meaning(field, value, other):
                cases[f"{what} of {field} changed"] = executions.changed(token, **{field: other})
    executions.expect_all_refused(cases)
    executions.still_serves(token, after="forgeries of it were refused")
    executions.honest()


@requirement("execution_tokens/signature")
def test_every_bit_of_the_scope_counts(executions):
    executions.need_secret()
    names = executions.table.names
    token = executions.token(scope={"limit": "5 runs"})
    scope = token[names["scope"]]
    cases = {}
    for field in INNER:
        value = scope[names[field]]
        text = value[0] if isinstance(value, list) else value
        for what, other in _some(executions, _flips(text)):
            if not _same_meaning(field, text, other):
                changed = {**scope, names[field]: [other] if isinstance(value, list) else other}
                cases[f"{what} of scope.{field} changed"] = executions.changed(token, scope=changed)
    more = {
        "a further member in its scope": {**scope, "more": 1},
        "a further host in its scope": {
            **scope,
            names["allowed_hosts"]: [*scope[names["allowed_hosts"]], "evil.example"],
        },
        "a member less in its scope": {k: v for k, v in scope.items() if k != "limit"},
    }
    cases |= {name: executions.changed(token, scope=other) for name, other in more.items()}
    executions.expect_all_refused(cases)
    executions.honest()


@requirement("execution_tokens/signature")
def test_only_the_whole_signature_is_one(executions):
    executions.honest()
    names = executions.table.names
    token, other = executions.token(), executions.token()
    right = token[names["signature"]]
    wrong = {
        "no signature": None,
        "an empty signature": "",
        "the first half of its signature": right[:32],
        "the first byte of its signature": right[:2],
        "its signature but for the last digit": right[:-1],
        "one digit more than its signature": f"{right}0",
        "its signature twice": right * 2,
        "its signature and zeros for its second half": right[:32] + "0" * 32,
        "zeros for a signature": "0" * 64,
        "the signature of another token": other[names["signature"]],
        "a list with its signature": [right],
        "true for a signature": True,
        "zero for a signature": 0,
        "an empty object for a signature": {},
        "a question for a signature": {"$ne": None},
        "a star for a signature": "*",
        "a word for a signature": "null",
        "letters beyond ASCII for a signature": "\u00fc" * 64,
        "its signature backwards": right[::-1],
        "its second half only": right[32:],
        "zeros and its second half": "0" * 32 + right[32:],
    }
    cases = {name: executions.changed(token, signature=value) for name, value in wrong.items()}
    cases["null for a signature"] = {**token, names["signature"]: None}
    executions.expect_all_refused(executions.some(cases, always=12))
    executions.still_serves(token, after="others with its nonce and a wrong signature were refused")


@requirement("execution_tokens/signature")
def test_another_secret_signs_otherwise(executions):
    executions.need_secret()
    executions.honest()
    driver = executions.driver
    own = driver.secret
    cases = {}
    try:
        for name, secret in {
            "signed with another secret": f"{own[::-1]}x",
            "signed with no secret": "",
            "signed with the known default secret": "CHANGE-ME-IN-PRODUCTION",
            "signed with its secret and a line end": f"{own}\n",
            "signed with the first half of its secret": own[: len(own) // 2],
            "signed with the second half of its secret": own[len(own) // 2 :],
            "signed with its secret in the other case": own.swapcase(),
            "signed with its secret twice": own * 2,
            "signed with the published secret of the test vector": VECTOR_SECRET,
        }.items():
            if secret == own:
                continue
            driver.secret = secret
            cases[f"a signature {name}"] = executions.token()
    finally:
        driver.secret = own
    executions.expect_all_refused(cases)


@requirement("execution_tokens/signature")
def test_another_algorithm_is_no_signature(executions):
    """Of the right string and with the right secret, but no HMAC with SHA-256."""
    executions.need_secret()
    executions.honest()
    names = executions.table.names
    secret = executions.driver.secret.encode("utf-8", "surrogateescape")
    token = executions.token()
    text = canonical(token, names)
    digests = {
        "an HMAC with SHA-512, cut": hmac.new(secret, text, "sha512").hexdigest()[:64],
        "an HMAC with SHA-512": hmac.new(secret, text, "sha512").hexdigest(),
        "an HMAC with SHA3-256": hmac.new(secret, text, "sha3_256").hexdigest(),
        "an HMAC with SHA-1": hmac.new(secret, text, "sha1").hexdigest(),
        "an HMAC with MD5": hmac.new(secret, text, "md5").hexdigest(),
        "a hash of the string": hashlib.sha256(text).hexdigest(),
        "a hash of the secret and the string": hashlib.sha256(secret + text).hexdigest(),
        "a hash of the string and the secret": hashlib.sha256(text + secret).hexdigest(),
        "an HMAC with secret and string swapped": hmac.new(text, secret, "sha256").hexdigest(),
        "an HMAC of nothing": hmac.new(secret, b"", "sha256").hexdigest(),
        "an HMAC of its hash": hmac.new(
            secret, hashlib.sha256(text).hexdigest().encode(), "sha256"
        ).hexdigest(),
    }
    executions.expect_all_refused(
        executions.some(
            {
                f"{name} for a signature": executions.changed(token, signature=value)
                for name, value in digests.items()
            }
        )
    )
    executions.still_serves(token, after="others with its nonce and a wrong signature were refused")


@requirement("execution_tokens/signature")
def test_one_signature_serves_one_nonce(executions):
    """A colon inside a field moves the border between two: the string that is signed stays."""
    executions.need_secret()
    executions.honest()
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    token_id = str(uuid.uuid4())
    one = executions.token(token_id=token_id, nonce=f"{first}:{second}")
    two = executions.changed(one, token_id=f"{token_id}:{first}", nonce=second)
    answers = [executions.execute(one), executions.execute(two)]
    runs = [answer for answer in answers if answer.executed]
    executions.expect(
        len(runs) < 2,
        sent="a token whose nonce has a colon, then the same with what is before it in token_id",
        expected="one run at most: the signature is the same",
        got="; ".join(answer.describe() for answer in answers),
    )
    if runs:
        executions.warn("a token with a colon in its ids was accepted; expected UUIDs only")


@requirement("execution_tokens/signature")
def test_an_id_that_is_no_uuid_is_better_refused(executions):
    """The document shows UUIDs. Whoever accepts others executes once for each nonce all the
    same."""
    executions.need_secret()
    executions.honest()
    plain = str(uuid.uuid4())
    odd = {
        "no token_id": {"token_id": None},
        "an empty token_id": {"token_id": ""},
        "a token_id in braces": {"token_id": f"{{{plain}}}"},
        "a token_id without hyphens": {"token_id": plain.replace("-", "")},
        "a word for a nonce": {"nonce": f"word{plain[:8]}"},
        "a nonce of digits": {"nonce": f"{uuid.uuid4().int}"},
    }
    with executions.several() as several:
        for name, change in executions.some(odd).items():
            token = executions.token(**change)
            first = executions.execute(token)
            if not first.executed:
                continue
            executions.warn(f"{name}: {first.describe()}; expected a UUID to be asked for")
            with several.one(name):
                executions.expect_refused(
                    executions.execute(token), sent=f"a token with {name}, for time 2"
                )

"""What is not signed decides nothing: members beside the scope, doubles, arguments of the call."""

import datetime
import json
import uuid
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.execution_tokens.corpus import LOOK_ALIKE_NUMBERS, LOOK_ALIKES
from pytest_mcp_approval.families.execution_tokens.token_making import ENDLESS, written
from pytest_mcp_approval.families.execution_tokens.verifier_access import LEFT_OUT

OTHER_ACTION = "mcp_approval_another"
OTHER_HOST = "evil.example"
OTHER_SECRET = "a secret that came with the token"
SPELLED_IDS = {
    "capitals in": str.upper,
    "braces around": "{{{}}}".format,
    "no hyphens in": lambda text: text.replace("-", ""),
    "a blank before": " {}".format,
    "urn:uuid: before": "urn:uuid:{}".format,
}
YES = ("verified", "valid", "approved", "trusted", "force", "skip_verification", "admin", "debug")


def _wished(executions, wish):
    """What somebody may want that a token does not allow: the scope that would allow it, and how
    it is asked for."""
    names, table = executions.table.names, executions.table
    if wish == "content":
        other = executions.token(content=executions.other_content)[names["scope"]]
        return other, {"content": executions.other_content}
    executions.need_argument(wish)
    mine = executions.token()[names["scope"]]
    if wish == "action":
        return {**mine, names["action_type"]: OTHER_ACTION}, {"action": OTHER_ACTION}
    scope = {**mine, names["allowed_hosts"]: [OTHER_HOST, table.host]}
    return scope, {"host": f"https://{OTHER_HOST}/"}


def _wishes(executions):
    """All that the verifier can be told."""
    told = ["content", *filter(executions.verifier.takes, ("action", "host"))]
    return {f"another {wish}": _wished(executions, wish) for wish in told}


def _expired(executions):
    return executions.token(expires_at=written(executions.driver.now() - ENDLESS))


# ---- values that look alike


@requirement("execution_tokens/signature")
def test_values_that_look_alike_have_signatures_of_their_own(executions):
    """A token signed with one of two values, and presented with the other; at two depths."""
    executions.need_secret()
    executions.honest()
    name = executions.table.names["scope"]
    pairs = LOOK_ALIKES | (LOOK_ALIKE_NUMBERS if executions.keeps_numbers else {})
    cases = {}
    for what, pair in pairs.items():
        for turned, (one, other) in enumerate((pair, pair[::-1])):
            first, second = ({"limit": v} if turned else {"l": [{"m": v}]} for v in (one, other))
            token = executions.token(scope=first)
            scope = {**token[name], **second}
            cases[f"{what}, {'turned round' if turned else 'one for the other'}"] = (
                executions.changed(token, scope=scope)
            )
    executions.expect_all_refused(
        executions.some(cases), sent="a token in whose scope a value was swapped,"
    )
    # Some readers of JSON give the one for the other before anybody can look at it.
    token = executions.token(scope={"limit": "\ufffd"})
    swapped = executions.changed(token, scope={**token[name], "limit": "\ud800"})
    answer = executions.execute(swapped)
    if answer.executed:
        executions.warn(f"half of a surrogate pair read as U+FFFD: {answer.describe()}")


@requirement("execution_tokens/signature")
def test_another_spelling_of_a_field_is_another_signature(executions):
    """The same instant, the same id, the same hash, but not the text that was signed. Ids that are
    read as UUIDs are the same in other spellings, and spent with them."""
    executions.honest()
    names = executions.table.names
    token = executions.token()
    end, scope = token[names["expires_at"]], token[names["scope"]]
    instant = datetime.datetime.fromisoformat(end)
    zone = datetime.timezone(datetime.timedelta(hours=1))
    spelled: dict[str, dict[str, Any]] = {
        "Z in expires_at": {"expires_at": f"{end[:19]}Z"},
        "a fraction of zero in expires_at": {"expires_at": f"{end[:19]}.000{end[-6:]}"},
        "a fraction in expires_at": {"expires_at": f"{end[:19]}.999{end[-6:]}"},
        "another zone in expires_at": {"expires_at": instant.astimezone(zone).isoformat()},
        "no zone in expires_at": {"expires_at": end[:19]},
        "a small t in expires_at": {"expires_at": end.replace("T", "t")},
        "a blank after expires_at": {"expires_at": f"{end} "},
        "sha256: before content_hash": {
            "scope": {**scope, names["content_hash"]: f"sha256:{scope[names['content_hash']]}"}
        },
    }
    cases = {
        name: changed
        for name, change in spelled.items()
        if (changed := executions.changed(token, **change)) != token
    }
    executions.expect_all_refused(
        executions.some(cases, always=2), sent="a token, spelled otherwise than it was signed,"
    )
    executions.still_serves(token, after="other spellings of it were refused")
    ids = {
        f"{what} {name}": (name, spell)
        for name in ("token_id", "nonce")
        for what, spell in SPELLED_IDS.items()
    }
    with executions.several() as several:
        for what, (name, spell) in executions.some(ids).items():
            token = executions.token()
            changed = executions.changed(token, **{name: spell(token[names[name]])})
            if changed == token:
                continue
            answer = executions.execute(changed)
            if answer.executed:
                executions.warn(f"a token, spelled with {what}: {answer.describe()}")
                with several.one(what):
                    executions.expect_refused(
                        executions.execute(token), sent=f"a token that was spent with {what}"
                    )


@requirement("execution_tokens/signature")
def test_a_good_token_lends_its_signature_to_no_other(executions):
    """Once it was served, others come with its id, its nonce or its signature."""
    token = executions.token()
    executions.need_served(executions.execute(token), "an honest token is refused")
    names = executions.table.names
    fresh, scope = str(uuid.uuid4()), token[names["scope"]]
    hosts = {**scope, names["allowed_hosts"]: [OTHER_HOST]}
    later = written(executions.driver.now() + 2 * ENDLESS)
    changes: dict[str, dict[str, Any]] = {
        "a fresh nonce": {"nonce": fresh},
        "a fresh nonce and a wrong signature": {"nonce": fresh, "signature": "0" * 64},
        "a fresh nonce and a later end": {"nonce": fresh, "expires_at": later},
        "a fresh nonce and another scope": {"nonce": fresh, "scope": hosts},
        "a fresh nonce and a fresh id": {"nonce": fresh, "token_id": str(uuid.uuid4())},
    }
    executions.expect_all_refused(
        {what: executions.changed(token, **change) for what, change in changes.items()},
        sent="a token like one that was served,",
    )
    executions.honest()


# ---- members that are not signed


@pytest.mark.parametrize(
    "wish",
    [
        pytest.param("content", marks=requirement("execution_tokens/content-at-execution")),
        pytest.param("action", marks=requirement("execution_tokens/scope-action")),
        pytest.param("host", marks=requirement("execution_tokens/scope-host")),
    ],
)
def test_members_beside_the_scope_allow_nothing(executions, wish):
    """The token is good. What would allow more stands where nobody has signed it."""
    scope, asked = _wished(executions, wish)
    executions.honest()
    names = executions.table.names
    token = executions.token()
    outside = {
        **{key: scope[names[key]] for key in ("content_hash", "action_type", "allowed_hosts")},
        **dict.fromkeys(("Scope", "SCOPE", "scope ", "scopes", "payload"), scope),
        "__proto__": {names["scope"]: scope},
    }
    more = {key: value for key, value in outside.items() if key not in token}
    executions.expect_refused(
        executions.execute({**token, **more}, **asked),
        sent=f"a token with unsigned members that would allow another {wish}, and that",
    )


@requirement("execution_tokens/signature")
def test_a_token_does_not_say_itself_that_it_is_good(executions):
    """A wrong signature, and members that say it is right, or with what to verify it."""
    executions.honest()
    names = executions.table.names
    wrong = "0" * 64
    words = dict.fromkeys(YES, True)
    algorithm = {"alg": "none", "algorithm": "none", "typ": "JWT", "header": {"alg": "none"}}
    cases: dict[str, dict[str, Any]] = {
        "a wrong signature, and members that call it good": {**words, names["signature"]: wrong},
        "a wrong signature, and no algorithm": {**algorithm, names["signature"]: wrong},
        "an empty signature, and no algorithm": {**algorithm, names["signature"]: ""},
    }
    tokens = {name: {**executions.token(), **more} for name, more in cases.items()}
    if executions.driver.secret is not None:
        own = dict.fromkeys(("secret", "key", "k", "hmac_key"), OTHER_SECRET)
        tokens["a signature with a secret that the token brings along"] = {
            **_signed_with(executions, OTHER_SECRET),
            **own,
        }
    executions.expect_all_refused(tokens)


def _signed_with(executions, secret):
    driver = executions.driver
    own = driver.secret
    try:
        driver.secret = secret
        return executions.token()
    finally:
        driver.secret = own


# ---- no token


@requirement("execution_tokens/signature")
def test_without_a_token_nothing_is_executed(executions):
    """Nothing in its place, or something empty."""
    executions.honest()
    texts = {"nothing": b"", "null": b"null", "an empty object": b"{}", "an empty list": b"[]"}
    texts |= {"true": b"true", "a list with a good one": json.dumps([executions.token()]).encode()}
    if executions.target.speaks_mcp and executions.table.token_as == "object":
        del texts["nothing"]  # which is no JSON
    executions.expect_all_refused(texts, sent="a call whose token is a text")
    if executions.target.speaks_mcp:
        name = executions.table.arguments["token"]
        for what, value in {
            "no token": LEFT_OUT,
            "null for a token": None,
            "an empty object for a token": {},
            "empty text for a token": "",
            "false for a token": False,
        }.items():
            answer = executions.execute(executions.token(), beside={name: value})
            executions.expect_refused(answer, sent=f"a call with {what}")


@requirement("execution_tokens/content-at-execution")
def test_without_a_content_nothing_is_executed(executions):
    if not executions.target.speaks_mcp:
        raise NotApplicable("a verifier that is no tool always gets a content")
    executions.honest()
    name = executions.table.arguments["content"]
    cases = {"no content": LEFT_OUT, "null for a content": None, "false for a content": False}
    cases |= {"a list with the content": [executions.driver.content.decode()]}
    with executions.several() as several:
        for what, value in cases.items():
            with several.one(what):
                answer = executions.execute(executions.token(), beside={name: value})
                executions.expect_refused(answer, sent=f"a good token, and {what}")


# ---- members that come twice


def _twice(token, path, value, *, last):
    """The token's text with one member twice: as it was, and with another value."""
    inner = token
    for name in path[:-1]:
        inner = inner[name]
    member = f"{json.dumps(path[-1])}: {json.dumps(value)}"
    text = json.dumps(inner)
    text = f"{text[:-1]}, {member}}}" if last else f"{{{member}, {text[1:]}"
    for name in reversed(path[:-1]):
        mark = str(uuid.uuid4())
        text = json.dumps({**token, name: mark}).replace(json.dumps(mark), text)
    return text.encode()


@requirement("execution_tokens/signature")
def test_a_member_that_comes_twice_allows_nothing_more(executions):
    """Readers of JSON take the first or the last of two: whoever verifies one and uses the other
    does what nobody signed."""
    executions.need_secret()
    executions.honest()
    names = executions.table.names
    scope = names["scope"]
    later = written(executions.driver.now() + ENDLESS)
    with executions.several() as several:

        def expect(what, token, path, value, **asked):
            for last in (False, True):
                how = f"{what}, {'after' if last else 'before'} the signed one"
                with several.one(how):
                    executions.expect_refused(
                        executions.execute(_twice(token, path, value, last=last), **asked),
                        sent=f"a token with a second {how}",
                    )

        expect("expires_at, an end to come", _expired(executions), [names["expires_at"]], later)
        for wish, (other, asked) in _wishes(executions).items():
            expect(f"scope, which allows {wish}", executions.token(), [scope], other, **asked)
            mine = executions.token()
            for key in ("content_hash", "action_type", "allowed_hosts"):
                if other[names[key]] != mine[scope][names[key]]:
                    path = [scope, names[key]]
                    expect(f"{key}, which allows {wish}", mine, path, other[names[key]], **asked)
    executions.honest()


@requirement("execution_tokens/nonce-replay")
def test_a_nonce_that_comes_twice_serves_once(executions):
    """One signature, and a fresh nonce before or after the signed one each time."""
    executions.honest()
    token = executions.token()
    path = [executions.table.names["nonce"]]
    texts = [
        _twice(token, path, str(uuid.uuid4()), last=last) for last in (False, True, False, True)
    ]
    answers = executions.execute_each([*texts, token])
    runs = [answer for answer in answers if answer.executed]
    executions.expect(
        len(runs) < 2,
        sent="a token with a second nonce, another one each time, and as it was",
        expected="one run at most: the signature is the same",
        got="; ".join(answer.describe() for answer in answers),
    )


# ---- arguments of the call


def _granted(executions, wish):
    """A call that must not be made: its token, what it asks for, and arguments beside the token
    that would allow it if they counted."""
    names = executions.table.names
    if wish in ("content", "action", "host"):
        scope, asked = _wished(executions, wish)
        more = {**scope, "scope": scope, "hash": scope[names["content_hash"]]}
        return executions.token(), asked, {**more, "host": executions.table.host}
    if wish == "signature":
        return executions.changed(executions.token(), signature="0" * 64), {}, {}
    if wish == "secret":
        keys = dict.fromkeys(("secret", "key", "hmac_secret"), OTHER_SECRET)
        return _signed_with(executions, OTHER_SECRET), {}, keys
    if wish == "time":
        past = written(executions.driver.now() - 2 * ENDLESS)
        later = written(executions.driver.now() + ENDLESS)
        return _expired(executions), {}, {"now": past, "time": past, "expires_at": later}
    spent = executions.token()
    executions.need_served(executions.execute(spent), "an honest token is refused")
    return spent, {}, {"nonce": str(uuid.uuid4()), "idempotency_key": str(uuid.uuid4())}


@pytest.mark.parametrize(
    "wish",
    [
        pytest.param("content", marks=requirement("execution_tokens/content-at-execution")),
        pytest.param("action", marks=requirement("execution_tokens/scope-action")),
        pytest.param("host", marks=requirement("execution_tokens/scope-host")),
        pytest.param("signature", marks=requirement("execution_tokens/signature")),
        pytest.param("secret", marks=requirement("execution_tokens/signature")),
        pytest.param("time", marks=requirement("execution_tokens/expiry", needs=[])),
        pytest.param("use", marks=requirement("execution_tokens/nonce-replay")),
    ],
)
def test_arguments_beside_the_token_allow_nothing(executions, wish):
    """A tool gets further arguments, which its caller chose: the token alone decides."""
    if not executions.target.speaks_mcp:
        raise NotApplicable("a verifier that is no tool has no further arguments")
    if wish in ("secret", "time"):
        executions.need_secret()
    executions.honest()
    token, asked, more = _granted(executions, wish)
    taken = executions.table.arguments.values()
    more = {"_meta": {"approved": True}, **dict.fromkeys(YES, True), **more}
    more = {key: value for key, value in more.items() if key not in taken}
    executions.expect_refused(
        executions.execute(token, beside=more, **asked),
        sent=f"a token, and arguments beside it that would allow another {wish}, and that",
    )

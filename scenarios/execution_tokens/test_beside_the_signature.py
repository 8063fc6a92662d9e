"""What is not signed decides nothing: members beside the scope, doubles, arguments of the call."""

import json
import uuid

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.execution_tokens.corpus import LOOK_ALIKE_NUMBERS, LOOK_ALIKES
from pytest_mcp_approval.families.execution_tokens.token_making import ENDLESS, written

OTHER_ACTION = "mcp_approval_another"
OTHER_HOST = "evil.example"
OTHER_SECRET = "a secret that came with the token"
YES = ("verified", "valid", "approved", "trusted", "force", "skip_verification", "admin", "debug")


def _wishes(executions):
    """What somebody may want that a token does not allow: the scope that would allow it, and how
    it is asked for."""
    names, table = executions.table.names, executions.table
    other = executions.token(content=executions.other_content)[names["scope"]]
    mine = executions.token()[names["scope"]]
    found = {"another content": (other, {"content": executions.other_content})}
    if executions.verifier.takes("action"):
        scope = {**mine, names["action_type"]: OTHER_ACTION}
        found["another action"] = (scope, {"action": OTHER_ACTION})
    if executions.verifier.takes("host"):
        scope = {**mine, names["allowed_hosts"]: [OTHER_HOST, table.host]}
        found["another host"] = (scope, {"host": f"https://{OTHER_HOST}/"})
    return found


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
    executions.expect_all_refused(executions.some(cases), sent="a token, in its scope swapped:")


# ---- members that are not signed


@requirement("execution_tokens/signature")
def test_members_beside_the_scope_allow_nothing(executions):
    """The token is good. What would allow more stands where nobody has signed it."""
    executions.honest()
    names = executions.table.names
    with executions.several() as several:
        for wish, (scope, asked) in _wishes(executions).items():
            token = executions.token()
            outside = {
                **{key: scope[names[key]] for key in ("content_hash", "action_type")},
                "allowed_hosts": scope[names["allowed_hosts"]],
                **dict.fromkeys(("Scope", "SCOPE", "scope ", "scopes", "payload"), scope),
                "__proto__": {names["scope"]: scope},
            }
            more = {key: value for key, value in outside.items() if key not in token}
            with several.one(wish):
                executions.expect_refused(
                    executions.execute({**token, **more}, **asked),
                    sent=f"a token with unsigned members that would allow {wish}, and that",
                )


@requirement("execution_tokens/signature")
def test_a_token_does_not_say_itself_that_it_is_good(executions):
    """A wrong signature, and members that say it is right, or with what to verify it."""
    executions.honest()
    names = executions.table.names
    wrong = "0" * 64
    words = dict.fromkeys(YES, True)
    algorithm = {"alg": "none", "algorithm": "none", "typ": "JWT", "header": {"alg": "none"}}
    cases = {
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


@requirement("execution_tokens/signature")
def test_arguments_beside_the_token_allow_nothing(executions):
    """A tool gets further arguments, which its caller chose: the token alone decides."""
    if not executions.target.speaks_mcp:
        raise NotApplicable("a verifier that is no tool has no further arguments")
    executions.honest()
    names = executions.table.names
    beside = {"_meta": {"approved": True}, **dict.fromkeys(YES, True)}
    with executions.several() as several:

        def expect(what, token, more, **asked):
            with several.one(what):
                executions.expect_refused(
                    executions.execute(token, beside={**beside, **more}, **asked),
                    sent=f"a token, and arguments beside it that would allow {what}",
                )

        taken = set(executions.table.arguments.values())
        for wish, (scope, asked) in _wishes(executions).items():
            more = {**scope, "scope": scope, "hash": scope[names["content_hash"]]}
            more = {key: value for key, value in more.items() if key not in taken}
            expect(wish, executions.token(), more, **asked)
        wrong = executions.changed(executions.token(), signature="0" * 64)
        expect("a wrong signature", wrong, {})
        if executions.driver.secret is not None:
            past = written(executions.driver.now() - 2 * ENDLESS)
            later = written(executions.driver.now() + ENDLESS)
            times = {"now": past, "time": past, "expires_at": later}
            expect("an expired token", _expired(executions), times)
            keys = dict.fromkeys(("secret", "key", "hmac_secret"), OTHER_SECRET)
            expect("another secret", _signed_with(executions, OTHER_SECRET), keys)
        spent = executions.token()
        executions.need_served(executions.execute(spent), "an honest token is refused")
        expect("a spent token", spent, {"nonce": str(uuid.uuid4()), "idempotency_key": "2"})

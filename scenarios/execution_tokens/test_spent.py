"""A spent token stays spent: however it comes, as long as it lives, and however its run ended."""

import datetime
import json
import uuid

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.execution_tokens.command_verifier import CommandVerifier

DAY = datetime.timedelta(days=1)
HALF_AN_HOUR = datetime.timedelta(minutes=30)
TEN_MINUTES = datetime.timedelta(minutes=10)
SECOND = datetime.timedelta(seconds=1)


def _spent(executions, token, **more):
    """A token that was used, and ran once."""
    answer = executions.execute(token, **more)
    executions.need_served(answer, "an honest token is refused")
    executions.expect_accepted(answer, sent="a good token, for the first time")
    return token


# ---- however it comes


def _escaped(text):
    """The same text of JSON with every letter and digit of its values written as an escape."""
    return "".join(f"\\u{ord(one):04x}" for one in text)


def _spellings(executions, token):
    """The same token as other texts, and beside members that nobody signed."""
    names = executions.table.names
    nonce = names["nonce"]
    plain = json.dumps(token)
    capitals = token[names["signature"]].upper()
    lines = {
        "lines and blanks": json.dumps(token, indent=3).encode(),
        "blanks around it": f" \n{plain}\n ".encode(),
    }
    return {
        "its members in another order": dict(reversed(token.items())),
        **(lines if executions.keeps_lines else {}),
        "no blanks": json.dumps(token, separators=(",", ":")).encode(),
        "its nonce in escapes": plain.replace(token[nonce], _escaped(token[nonce])).encode(),
        "a further member": {**token, "more": str(uuid.uuid4())},
        "its signature in capitals": {**token, names["signature"]: capitals},
    }


@requirement("execution_tokens/nonce-replay")
def test_a_spent_token_is_spent_however_it_is_spelled(executions):
    """A log of texts, of hashes of texts or of signatures takes another spelling for another
    token."""
    token = _spent(executions, executions.token())
    executions.expect_all_refused(
        executions.some(_spellings(executions, token), always=2), sent="a spent token"
    )
    with executions.several() as several:
        cases = _spellings(executions, executions.token())
        for name in executions.some(cases):
            fresh = executions.token()
            first = executions.execute(_spellings(executions, fresh)[name])
            if first.executed:
                with several.one(name):
                    executions.expect_refused(
                        executions.execute(fresh), sent=f"a token that was spent with {name}"
                    )
    executions.honest()


@requirement("execution_tokens/nonce-replay")
def test_a_spent_token_is_spent_for_every_host(executions):
    """The token allows two hosts, and one run."""
    executions.need_argument("host")
    host, second = executions.table.host, "second.example"
    token = _spent(executions, executions.token(hosts=[host, second]), host=f"https://{host}/")
    hosts = {
        "the other host": f"https://{second}/",
        "the same host": f"https://{host}/",
        "another path of the same host": f"https://{host}/2?x#y",
        "the bare host": host,
        "the same host in capitals": f"https://{host.upper()}/",
        "a port": f"https://{host}:443/",
        "another scheme": f"http://{host}/",
        "no host": None,
    }
    with executions.several() as several:
        for name, url in executions.some(hosts).items():
            with several.one(name):
                executions.expect_refused(
                    executions.execute(token, host=url),
                    sent=f"a token for two hosts that was spent with one, with {name}",
                )
    without = _spent(executions, executions.token())
    executions.expect_refused(
        executions.execute(without, host=f"https://{host}/"),
        sent="a token that was spent without a host, with one",
    )


@requirement("execution_tokens/nonce-replay")
def test_refusals_do_not_give_a_nonce_back(executions):
    """A spent token comes with something wrong, and then as it was."""
    names = executions.table.names
    token = executions.token(hosts=[executions.table.host])
    wrong = {
        "another content": (token, {"content": executions.other_content}),
        "a wrong signature": (executions.changed(token, signature="0" * 64), {}),
        "another end": (executions.changed(token, expires_at="1970-01-01T00:00:00+00:00"), {}),
        "another id": (executions.changed(token, token_id=str(uuid.uuid4())), {}),
        "an empty scope": (executions.changed(token, scope={}), {}),
        "no signature": (executions.changed(token, signature=None), {}),
    }
    if executions.driver.secret is not None:
        over = executions.token(nonce=token[names["nonce"]], expires_at="1970-01-01T00:00:00+00:00")
        wrong["an end long past, signed"] = (over, {})
    if executions.verifier.takes("action"):
        wrong["another action"] = (token, {"action": "mcp_approval_another"})
    if executions.verifier.takes("host"):
        wrong["another host"] = (token, {"host": "https://evil.example/"})
    _spent(executions, token)
    with executions.several() as several:
        for what, (other, asked) in executions.some(wrong).items():
            with several.one(what):
                executions.execute(other, **asked)
                executions.expect_refused(
                    executions.execute(token), sent=f"a spent token, after it came with {what}"
                )
    executions.honest()


@requirement("execution_tokens/signature")
def test_the_other_form_of_a_token_is_verified_too(executions):
    """A tool may take a token as text and as an object: a forged one serves in neither."""
    if not executions.target.speaks_mcp:
        executions.not_applicable("a verifier that is no tool takes tokens in one form")
    executions.honest()
    name = executions.table.arguments["token"]
    for form in ("text", "an object"):
        forged = executions.changed(executions.token(), signature="0" * 64)
        value = json.dumps(forged) if form == "text" else forged
        executions.expect_refused(
            executions.execute(forged, beside={name: value}),
            sent=f"a token with a wrong signature, as {form}",
        )


@requirement("execution_tokens/nonce-replay")
def test_a_token_as_text_and_as_an_object_is_one(executions):
    """A tool that takes both forms has one log for both."""
    if not executions.target.speaks_mcp:
        executions.not_applicable("a verifier that is no tool takes tokens in one form")
    name = executions.table.arguments["token"]
    with executions.several() as several:
        for form in ("text", "an object"):
            token = executions.token()
            other = {name: json.dumps(token) if form == "text" else token}
            first = executions.execute(token, beside=other)
            later = {
                "as it is used": executions.execute(token),
                f"as {form}": executions.execute(token, beside=other),
            }
            for how, answer in later.items():
                if not first.executed and how == "as it is used":
                    continue
                with several.one(f"{form}, then {how}"):
                    executions.expect_refused(
                        answer, sent=f"a token that came as {form} before, for time 2 {how}"
                    )


@requirement("execution_tokens/nonce-replay")
def test_nonces_that_differ_in_one_place_are_two(executions):
    """A log that keeps a part of a nonce refuses tokens that nobody has used."""
    executions.need_secret()
    nonce = str(uuid.uuid4())
    _spent(executions, executions.token(nonce=nonce))
    tokens = {}
    for place in (0, 7, 9, 12, 15, 17, 20, 22, 24, 29, 35):
        digit = "0" if nonce[place] != "0" else "1"
        other = nonce[:place] + digit + nonce[place + 1 :]
        tokens[f"character {place + 1}"] = executions.token(nonce=other)
    executions.expect_all_accepted(
        executions.some(tokens), sent="a token whose nonce differs from a spent one in"
    )


# ---- as long as it lives


@requirement("execution_tokens/nonce-replay")
def test_a_spent_token_stays_spent_as_long_as_it_lives(executions):
    """Asked again while time passes and others execute: logs are cleaned up, and not too soon."""
    if not executions.target.clock.movable or not executions.target.clock.stops:
        raise NotVerified("needs a clock that can be moved, to see how long it lasts", minor=True)
    start = executions.driver.now()
    tokens = {"half an hour": _spent(executions, executions.token(lives=HALF_AN_HOUR))}
    for lives, length in {"a day": DAY, "a week": 7 * DAY}.items():
        long = executions.token(lives=length)
        if executions.execute(long).accepted:  # a verifier may have a limit of its own
            tokens[lives] = long
    executions.honest()
    moments = {
        "61 s later": datetime.timedelta(seconds=61),
        "6 minutes later": datetime.timedelta(minutes=6),
        "1 s before the half hour": HALF_AN_HOUR - SECOND,
        "1 s after the half hour": HALF_AN_HOUR + SECOND,
        "61 minutes later": datetime.timedelta(minutes=61),
        "1 s before the end of the day": DAY - SECOND,
        "a second day later": 2 * DAY + 2 * HALF_AN_HOUR,
    }
    if not executions.verifier.quick:
        moments = {name: moments[name] for name in list(moments)[2:6:2]}
    with executions.several() as several:
        for when, passed in moments.items():
            executions.clock.move_to(start + passed)
            executions.honest()
            for lives, token in tokens.items():
                with several.one(f"{lives}, {when}"):
                    executions.expect_refused(
                        executions.execute(token),
                        sent=f"a spent token that lives {lives}, {when}",
                    )
        last = _spent(executions, executions.token())
        executions.clock.move_to(executions.driver.now() - datetime.timedelta(minutes=1))
        with several.one("a clock that is set back"):
            executions.expect_refused(
                executions.execute(last), sent="a spent token, after a clock was set back by 60 s"
            )


@requirement("execution_tokens/nonce-restart")
def test_every_spent_token_is_spent_after_a_restart(executions):
    """Not the last alone; and what was not used before serves afterwards."""
    count = 12 if executions.verifier.quick else 3
    tokens = [_spent(executions, executions.token()) for _ in range(count)]
    if executions.target.clock.movable and executions.target.clock.stops:
        executions.clock.advance(TEN_MINUTES.total_seconds())
    unused = executions.token()
    executions.restart()
    executions.honest()
    executions.expect_all_refused(
        {
            f"{count - number - 1} others executed after it": one
            for number, one in enumerate(tokens)
        },
        sent=f"one of {count} tokens that were spent before a restart,",
    )
    executions.expect_accepted(
        executions.execute(unused), sent="a token that was not used before a restart"
    )


# ---- whatever came of its run


@requirement("execution_tokens/nonce-replay")
def test_a_token_whose_execution_failed_is_spent(executions):
    """The content was run, and ended with an error: a second run needs a second approval."""
    verifier = executions.verifier
    if not isinstance(verifier, CommandVerifier):
        executions.not_applicable("the suite does not decide what comes of an execution here")
    if not verifier.shows_runs:
        raise NotVerified("needs a runner that fails: {runner} in the command line", minor=True)
    executions.honest()
    token = executions.token()
    answer = verifier.ask_failing(executions.driver.request(token))
    if not answer.ran:
        raise NotVerified(f"nothing was executed: {answer.describe()}")
    executions.expect_refused(
        executions.execute(token), sent="a token whose content was run, and ended with exit code 3"
    )
    executions.honest()

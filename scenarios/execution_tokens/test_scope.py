"""The scope: these hosts, this action, and no other."""

import re
import unicodedata

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.execution_tokens.command_verifier import CommandVerifier


def _tricks(host):
    """What names another host, or what some readers of URLs take for another."""
    first, _, rest = host.partition(".")
    return {
        "another host": "evil.example",
        "a subdomain": f"https://x.{host}/",
        "the domain above": f"https://{rest}/",
        "another host that ends alike": f"https://evil{host}/",
        "another host that begins alike": f"https://{host}.evil.example/",
        "the allowed host in the path": f"https://evil.example/{host}",
        "the allowed host in the query": f"https://evil.example/?{host}",
        "the allowed host in the fragment": f"https://evil.example#{host}",
        "the allowed host as user information": f"https://{host}@evil.example/",
        "the allowed host as user and password": f"https://{host}:443@evil.example/",
        "a backslash before user information": f"https://evil.example\\@{host}/",
        "a backslash after another host": f"https://evil.example\\.{host}/",
        "a look-alike letter": f"https://{_look_alike(first)}.{rest}/",
        "an ideographic full stop": f"https://evil.example\u3002{host}/",
        "an escaped dot": f"https://{first}%2e{rest}.evil.example/",
        "a null byte's escape": f"https://{host}%00.evil.example/",
        "a line end": f"https://evil.example\n.{host}/",
        "an address of this machine": "http://127.0.0.1/",
        "a dot for the dot": f"https://{first}x{rest}/",
        "nothing": "https:///",
        "two slashes and another host": "//evil.example/",
        "another host in capitals": "HTTPS://EVIL.EXAMPLE/",
        "a scheme without slashes": "https:evil.example",
        "another scheme": "ftp://evil.example/",
        "another host, and the allowed one after a blank": f"https://evil.example {host}/",
        "the allowed host, and another one after a comma": f"{host},evil.example",
        "another host, and the allowed one after a comma": f"evil.example,{host}",
        "another host with a port": f"https://evil.example:443/{host}",
        "the allowed host and a tab": f"https://{host}\t.evil.example/",
        "a full stop of another script": f"https://{host}\uff0eevil.example/",
        "this machine by name": "https://localhost/",
        "this machine as one number": "http://2130706433/",
        "this machine in version 6": "http://[::1]/",
        "a word that looks like an answer": "https://accepted.allowed.true.example/",
        "the allowed host without its dots": f"https://{host.replace('.', '')}/",
        "another top-level domain": f"https://{host.rpartition('.')[0]}.example/",
        "a numbered neighbour": f"https://{first}2.{rest}/",
        "a neighbour with a hyphen": f"https://{first}-staging.{rest}/",
        "www before the allowed host": f"https://www.{host}/",
        "the allowed host after a question mark and an @": f"https://evil.example?@{host}/",
        "the allowed host after a # and an @": f"https://evil.example#@{host}/",
        "the allowed host between two @": f"https://x@{host}@evil.example/",
        "an escaped slash": f"https://{host}%2f.evil.example/",
        "a wide slash": f"https://{host}\uff0f.evil.example/",
        "an accent": f"https://{first}\u0301.{rest}/",
        "a letter more that is not ASCII": f"https://{first}\u00fc.{rest}/",
        "the allowed host with a hyphen": f"https://{host}-evil.example/",
    }


def _names_it(url, host):
    """Whether it is the allowed host after all: of localhost, of an address, of x.example."""
    form = r"(?:https?://)?([a-z0-9.:\[\]-]+?)\.?/?"
    plain = re.fullmatch(form, unicodedata.normalize("NFKC", url), re.IGNORECASE)
    named = plain[1].lower().strip("[]") if plain else ""
    return named == host.lower().strip("[]") or (named, host) == ("2130706433", "127.0.0.1")


def _look_alike(label):
    """With one letter replaced by its Cyrillic or full-width twin."""
    twins = {"a": "\u0430", "e": "\u0435", "o": "\u043e", "p": "\u0440", "c": "\u0441"}
    for letter, twin in twins.items():
        if letter in label:
            return label.replace(letter, twin, 1)
    return chr(ord(label[0]) - 0x21 + 0xFF01) + label[1:]


@requirement("execution_tokens/scope-host")
def test_only_an_allowed_host_is_reached(executions):
    executions.need_argument("host")
    host = executions.table.host
    executions.expect_accepted(
        executions.execute(executions.token(), host=f"https://{host}/"),
        sent=f"a token for {host}, with a URL of it",
    )
    with executions.several() as several:
        tricks = _tricks(host)
        if not isinstance(executions.verifier, CommandVerifier):  # which a command line cannot have
            tricks["a null byte"] = f"https://{host}\0.evil.example/"
        for name, url in _some(executions, tricks).items():
            if _names_it(url, host):
                continue
            with several.one(name):
                executions.expect_refused(
                    executions.execute(executions.token(), host=url),
                    sent=f"a token for {host}, with {name}: {ascii(url)[1:-1]}",
                )


def _some(executions, tricks):
    """If asking is slow, those that fool the most verifiers."""
    if executions.verifier.quick:
        return tricks
    names = ["a subdomain", "another host that ends alike", "another host that begins alike"]
    names += ["the allowed host as user information", "a look-alike letter", "another host"]
    names += ["the allowed host in the path", "a backslash before user information"]
    return {name: tricks[name] for name in names}


@requirement("execution_tokens/scope-host")
def test_the_same_host_in_other_words_is_one_or_the_other(executions):
    """Case, a trailing dot, a port: accepted or refused, as a whole, and the verifier survives."""
    executions.need_argument("host")
    host = executions.table.host
    executions.honest(host=f"https://{host}/")
    with executions.several() as several:
        for other in (host.upper(), f"{host}.", f"https://{host}:443/"):
            with several.one(other):
                sent = f"a token for {host}, with {other}"
                answer = executions.execute(executions.token(), host=other)
                executions.expect(
                    answer.refused or answer.served_once,
                    sent=sent,
                    expected="accepted and content run once, or refused and not run",
                    got=answer.describe(),
                )
                executions.expect_accepted(
                    executions.execute(executions.token(), host=f"https://{host}/"),
                    sent=f"{sent}, and an honest one after that",
                )


@requirement("execution_tokens/scope-host")
def test_any_of_several_hosts_and_none_of_none(executions):
    executions.need_argument("host")
    host = executions.table.host
    several = ["first.example", host, "last.example"]
    executions.expect_accepted(
        executions.execute(executions.token(hosts=several), host=f"https://{host}/"),
        sent=f"a token for three hosts, with a URL of {host}",
    )
    cases = {
        "no host in its scope": [],
        "an empty host in its scope": [""],
        "a star in its scope": ["*"],
        "a dot in its scope": ["."],
        "the domain above in its scope": [host.partition(".")[2]],
        "a star and the domain above in its scope": [f"*.{host.partition('.')[2]}"],
        "a dot and the domain above in its scope": [f".{host.partition('.')[2]}"],
        "the beginning of the host and a star in its scope": [f"{host.partition('.')[0]}.*"],
        "an expression for any host in its scope": [".*", "^.*$", "%", "?", "**"],
        "all addresses in its scope": ["0.0.0.0/0", "::/0", "0.0.0.0"],
        "words for any host in its scope": ["any", "all", "null", "undefined", "true", "default"],
        "a subdomain in its scope": [f"x.{host}"],
        "two hosts in one entry of its scope": [f"other.example,{host}", f"other.example {host}"],
    }
    many = [f"host-{number}.example" for number in range(150)]
    answer = executions.execute(executions.token(hosts=[*many, host]), host=f"https://{host}/")
    sent = f"a token for {len(many) + 1} hosts, with a URL of the last"
    if answer.refused:  # a limit of its own
        executions.warn(f"{sent}: {answer.describe()}; expected accepted")
    else:
        executions.expect_accepted(answer, sent=sent)
        cases["many other hosts in its scope"] = many
    with executions.several() as several:
        for name, hosts in executions.some(cases, always=5).items():
            with several.one(name):
                executions.expect_refused(
                    executions.execute(executions.token(hosts=hosts), host=f"https://{host}/"),
                    sent=f"a token with {name}, and a URL of {host}",
                )


@requirement("execution_tokens/scope-host")
def test_hosts_that_are_no_list_allow_nothing(executions):
    executions.need_argument("host")
    executions.need_secret()
    host, name = executions.table.host, executions.table.names["allowed_hosts"]
    executions.honest(host=f"https://{host}/")
    cases = {
        "text for a list of hosts": {name: f"{host} {host}"},
        "null for a list of hosts": {name: None},
        "true for a list of hosts": {name: True},
        "false for a list of hosts": {name: False},
        "zero for a list of hosts": {name: 0},
        "empty text for a list of hosts": {name: ""},
        "an empty object for a list of hosts": {name: {}},
        "an object with the host for a list of hosts": {name: {host: False}},
        "a list in the list of hosts": {name: [[host]]},
        "null in the list of hosts": {name: [None]},
        "true in the list of hosts": {name: [True]},
    }
    tokens = {what: executions.token(scope=scope) for what, scope in cases.items()}
    mine = executions.token()[executions.table.names["scope"]]
    tokens["no list of hosts"] = executions.with_scope(
        {key: value for key, value in mine.items() if key != name}
    )
    executions.expect_all_refused(executions.some(tokens, always=3), host=f"https://{host}/")


@requirement("execution_tokens/scope-host")
def test_a_host_that_is_not_found_is_not_allowed(executions):
    """Some readers find no host in these URLs, others the one after the slashes: a scope with an
    entry that names no host does not allow it."""
    executions.need_argument("host")
    executions.honest(host=f"https://{executions.table.host}/")
    scopes: dict[str, list[str | None]] = {
        "names for no host": ["", ".", "None", "null", "undefined"]
    }
    if executions.driver.secret is not None:
        scopes["null"] = [None]
    urls = ["https:///evil.example/", "https:evil.example", "https:/evil.example/"]
    with executions.several() as several:
        for name, hosts in scopes.items():
            for url in urls:
                with several.one(f"{name}, {url}"):
                    executions.expect_refused(
                        executions.execute(executions.token(hosts=hosts), host=url),
                        sent=f"a token with {name} in its hosts, with {url}",
                    )


# ---- the action


@requirement("execution_tokens/scope-action")
def test_only_the_approved_action_is_executed(executions):
    executions.need_argument("action")
    executions.honest()
    action = executions.table.action
    others = {
        "another action type": "mcp_approval_another",
        "an empty action type": "",
        "its action type in capitals": action.upper(),
        "a blank after its action type": f"{action} ",
        "the beginning of its action type": action[:-1],
        "more than its action type": f"{action}_and_more",
        "a star": "*",
        "a blank before its action type": f" {action}",
        "a line end after its action type": f"{action}\n",
        "a tab after its action type": f"{action}\t",
        "a point after its action type": f"{action}.more",
        "a colon after its action type": f"{action}:more",
        "a slash after its action type": f"{action}/more",
        "its action type after a colon": f"more:{action}",
        "its action type and another": f"{action},mcp_approval_another",
        "another and its action type": f"mcp_approval_another,{action}",
        "its action type twice": action * 2,
        "its action type backwards": action[::-1],
        "a blank of no width in its action type": f"{action[:1]}\u200b{action[1:]}",
        "wide letters of its action type": "".join(map(_wide, action)),
        "an escape in its action type": f"%{ord(action[0]):02x}{action[1:]}",
        "an expression for any action type": ".*",
        "a word that looks like an answer": "accepted",
        "a word that looks like a yes": "true",
        "an action that only reads": "read_file",
        "an action that only lists": "list_files",
        "an action that gets something": "get_status",
    }
    if not isinstance(executions.verifier, CommandVerifier):
        others["a null byte after its action type"] = f"{action}\0more"
    with executions.several() as several:
        for name, other in executions.some(others, always=7).items():
            if other != action:
                with several.one(name):
                    executions.expect_refused(
                        executions.execute(executions.token(), action=other),
                        sent=f"a token for {action!r}, with {name}",
                    )


@requirement("execution_tokens/scope-action")
def test_a_token_for_any_action_is_one_for_none(executions):
    """A scope without an action type, or with one that could mean all."""
    executions.need_argument("action")
    executions.need_secret()
    executions.honest()
    name = executions.table.names["action_type"]
    cases = {
        "a star for its action type": {name: "*"},
        "null for its action type": {name: None},
        "a list with the action type": {name: [executions.table.action]},
        "an empty action type": {name: ""},
        "true for its action type": {name: True},
        "false for its action type": {name: False},
        "zero for its action type": {name: 0},
        "an empty list for its action type": {name: []},
        "an empty object for its action type": {name: {}},
        "an object with the action type": {name: {executions.table.action: True}},
        "an expression for its action type": {name: ".*"},
        "a word for any action type": {name: "any"},
        "another word for any action type": {name: "all"},
    }
    tokens = {what: executions.token(scope=scope) for what, scope in cases.items()}
    mine = executions.token()[executions.table.names["scope"]]
    tokens["no action type"] = executions.with_scope(
        {key: value for key, value in mine.items() if key != name}
    )
    tokens["an empty scope"] = executions.with_scope({})
    executions.expect_all_refused(executions.some(tokens, always=4))
    with executions.several() as several:
        for value, text in [(7, "7"), (True, "true"), (True, "True"), (None, "None"), (1.5, "1.5")]:
            with several.one(text):
                executions.expect_refused(
                    executions.execute(executions.token(scope={name: value}), action=text),
                    sent=f"a token whose action type is no text, with its text: {text}",
                )


PAIRS = {
    "numbers that are equal": ("1e3", "1000"),
    "numbers with a zero before": ("7", "07"),
    "zeros to a power": ("0e1", "0e2"),
    "a text and its composed form": ("e\u0301", "\u00e9"),
    "two sharp letters": ("stra\u00dfe", "strasse"),
    "a dotted and a dotless letter": ("\u0130", "i"),
    "a hyphen and an underscore": ("delete_file", "delete-file"),
    "an underscore and a letter": ("delete_file", "deleteXfile"),
    "a percent sign and anything": ("delete%", "delete_all"),
    "a dot and a letter": ("a.c", "abc"),
    "two with a comma and the first": ("exec,other", "exec"),
    "two with a blank and the second": ("exec other", "other"),
    "two with a bar and the first": ("exec|other", "exec"),
    "singular and plural": ("read", "reads"),
    "null in words": ("null", "None"),
    "the end of a long text": (f"{'a' * 300}1", f"{'a' * 300}2"),
    "names that mean something elsewhere": ("__proto__", "constructor"),
    "reasons of refusals": ("expired", "nonce_spent"),
    "what follows a null's escape": ("a\\u0000b", "a\\u0000c"),
}


@requirement("execution_tokens/scope-action")
def test_action_types_that_are_alike_are_two(executions):
    """The token is for one of two, and does not serve with the other. What a text means elsewhere
    decides nothing. With the one itself nothing is asked: nobody said that it is safe, or known."""
    executions.need_argument("action")
    executions.need_secret()
    executions.honest()
    with executions.several() as several:
        for name, (approved, asked) in executions.some(PAIRS).items():
            with several.one(name):
                executions.expect_refused(
                    executions.execute(executions.token(action=approved), action=asked),
                    sent=f"a token for one of two alike, with the other: {name}",
                )


def _wide(letter):
    return chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter


@requirement("execution_tokens/scope-action")
def test_action_types_of_any_letters_are_compared(executions):
    executions.need_argument("action")
    executions.need_secret()
    executions.honest()
    action = 'quote " and \u00fc'
    executions.expect_refused(
        executions.execute(executions.token(action=action), action=action.replace("\u00fc", "u")),
        sent=f"a token for {action!a}, with a plain u",
    )

"""The scope: these hosts, this action, and no other."""

from pytest_mcp_approval.catalogue import requirement


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
    }


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
        for name, url in _some(executions, _tricks(host)).items():
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
    }
    with executions.several() as several:
        for name, hosts in cases.items():
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
    }
    with executions.several() as several:
        for what, scope in cases.items():
            with several.one(what):
                executions.expect_refused(
                    executions.execute(executions.token(scope=scope), host=f"https://{host}/"),
                    sent=f"a token with {what}",
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
    }
    with executions.several() as several:
        for name, other in others.items():
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
    }
    executions.expect_all_refused(
        {what: executions.token(scope=scope) for what, scope in cases.items()}
    )


@requirement("execution_tokens/scope-action")
def test_action_types_of_any_letters_are_compared(executions):
    executions.need_argument("action")
    executions.need_secret()
    action = 'quote " and \u00fc'
    executions.expect_accepted(
        executions.execute(executions.token(action=action), action=action),
        sent=f"a token for {action!a}, with just that",
    )
    executions.expect_refused(
        executions.execute(executions.token(action=action), action=action.replace("\u00fc", "u")),
        sent=f"a token for {action!a}, with a plain u",
    )

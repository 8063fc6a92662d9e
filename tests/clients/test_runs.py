"""A run about a client: as any other, with the suite in the place of the server."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from pytest_mcp_approval.report import json_file
from tests.clients.conftest import IN_PROCESS

PROGRAM = f"{sys.executable} -m pytest_mcp_approval.reference_client"
FEW = (
    "--mcp-approval-select=sep2672/4.5-client-attaches-evidence",
    "--mcp-approval-select=elicitation/client-new-id",
)
"""Rules with few checks, of both families and both eras."""
MODE = "--mcp-approval-select=elicitation/client-mode"


def test_the_reference_client_keeps_every_rule(suite):
    result = suite.check("-v", "--mcp-approval-strict", "--mcp-approval-require-verified")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "mcp-approval  client*",
            "*speaks   handshake, sessionless, over HTTP",
            "*approved once, honestly: elicitation, sep2672",
            "no findings in * checks of*",
            "*6 passed *",
            "*14 passed *",
            "mcp-approval  20 of 20 rules checked",
        ]
    )
    assert "warning" not in result.stdout.str().partition("no findings")[2]


@pytest.mark.parametrize(
    "words",
    [
        "{url} --authenticator={authenticator}",
        "--authenticator={authenticator} -- {stdio}",
        "{url} --authenticator={authenticator} --call {tool} --arguments {arguments}",
    ],
    ids=["http", "stdio", "once per call"],
)
def test_a_command_is_checked_in_a_terminal_of_its_own(suite, words):
    result = suite.check(*FEW, "-v", client=f"{PROGRAM} {words}")
    assert result.ret == 0, result.stdout.str()
    way = "stdio" if "{stdio}" in words else "HTTP"
    result.stdout.fnmatch_lines(
        [f"*speaks   handshake, sessionless, over {way}", "*2 of 2 rules checked"]
    )


def test_a_client_with_an_authenticator_of_its_own_is_enrolled_first(suite):
    """Also after it was started anew, when what it had in its memory is gone."""
    client = "python:pytest_mcp_approval.reference_client.program:main {url}"
    result = suite.check("--mcp-approval-family=sep2672", "--mcp-approval-strict", client=client)
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(
        ["*13 passed · 1 not verified*", "*1 more needs to see what is signed: {authenticator} in*"]
    )


CONFIGURED = """
import json, shlex, sys
from pytest_mcp_approval.reference_client.program import main

servers = json.loads(open(sys.argv[1]).read())["mcpServers"]
((name, server),) = servers.items()
target = [server["url"]] if "url" in server else ["--", server["command"], *server["args"]]
sys.exit(main(target))
"""


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_a_client_that_reads_a_file_is_told_there(suite, transport):
    suite.pytester.makepyfile(configured=CONFIGURED)
    result = suite.check(
        "--mcp-approval-select=elicitation/client-new-id",
        f"--mcp-approval-set=client.transport={transport}",
        client=f"{sys.executable} configured.py {{config}}",
    )
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["*1 of 1 rule checked"])


IMPATIENT = """
from pytest_mcp_approval.reference_client.client import ReferenceClient
from pytest_mcp_approval.reference_client.connection import Connection
from pytest_mcp_approval.reference_client.outcomes import Unknown, Unusable
from pytest_mcp_approval.reference_client.program import Program

class Impatient(Connection):
    def request(self, method, params, *more):
        decided = "inputResponses" in params or "_meta" in params
        usual = self.transport.seconds
        self.transport.seconds = 0.3 if method == "tools/call" and decided else usual
        try:
            return super().request(method, params, *more)
        finally:
            self.transport.seconds = usual

class TriesAgain(Program):
    connection_class = Impatient

class Once(ReferenceClient):
    over = False

    def call(self, name, arguments):
        if self.over:
            return Unusable("this server does not answer")
        outcome = super().call(name, arguments)
        self.over = isinstance(outcome, Unknown)
        return outcome

class GivesUpForGood(TriesAgain):
    client_class = Once

def tries_again(arguments, **streams):
    return TriesAgain(arguments, **streams).run()

def gives_up_for_good(arguments, **streams):
    return GivesUpForGood(arguments, **streams).run()
"""
TIME_OUTS = ("-v", "-k", "after_a_time_out", "--mcp-approval-set=client.silence=30")


@pytest.mark.parametrize("place", ["{url}", "-- {stdio}"], ids=["http", "stdio"])
def test_a_client_that_gives_up_by_itself_may_ask_anew(suite, place):
    suite.pytester.makepyfile(impatient=IMPATIENT)
    client = f"python:impatient:tries_again --authenticator={{authenticator}} {place}"
    result = suite.check(*TIME_OUTS, client=client)
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["*2 of 2 rules checked", "*6 passed*"])


def test_a_client_that_makes_no_second_try_has_reused_nothing(suite):
    suite.pytester.makepyfile(impatient=IMPATIENT)
    client = "python:impatient:gives_up_for_good --authenticator={authenticator} {url}"
    result = suite.check(*TIME_OUTS, client=client)
    assert "FAIL" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*6 not verified*"])


def test_a_client_need_not_start_its_server_again(suite):
    """Over stdio the server is gone when it hangs up, and with it whatever could be asked."""
    suite.pytester.makepyfile(impatient=IMPATIENT)
    client = "python:impatient:gives_up_for_good --authenticator={authenticator} -- {stdio}"
    ends = ("-k", "goes_out_once or belongs_to_its_call")
    result = suite.check(*ends, "--mcp-approval-require-verified", client=client)
    assert result.ret == 0, result.stdout.str()
    notes = [
        "passed, note  the client does not start its server again",
        "*not made in *client-state-echo (1 of 4)*",
    ]
    result.stdout.fnmatch_lines([*notes, "*2 of 2 rules checked"])


BROKEN = "python:tests.mutants.clients.approvals:CutsAtEighty {url} --authenticator={authenticator}"
VERBATIM = "--mcp-approval-select=sep2672/4.4.3-client-verbatim"


def test_a_broken_client_fails_and_its_finding_can_be_replayed(suite):
    result = suite.run(
        f"--mcp-approval-client={BROKEN}",
        VERBATIM,
        "--mcp-approval-report=run.json",
        target=None,
    )
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*FAIL*4.4.3-client-verbatim*MUST*",
            "*sent *displayText: longer than a line*",
            "*expected *the text itself, all of it",
            "*got *a screen that ends *",
            "*--mcp-approval-replay=*--mcp-approval-client=*",
        ]
    )
    report = json.loads((suite.pytester.path / "run.json").read_text())
    assert BROKEN in json.dumps(report)
    schema = json.loads((Path(json_file.__file__).parent / "schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(report)
    finding = next((suite.pytester.path / ".mcp-approval" / "findings").glob("*.json"))
    replayed = f"--mcp-approval-replay={finding}"
    # What a finding runs is never taken from it alone.
    alone = suite.run(replayed, target=None)
    assert alone.ret == 4
    again = suite.run(replayed, f"--mcp-approval-client={BROKEN}", target=None)
    assert again.ret == 1
    fixed = suite.run(replayed, f"--mcp-approval-client={IN_PROCESS}", target=None)
    assert fixed.ret == 0, fixed.stdout.str()


def test_a_known_failure_of_a_client_does_not_fail_the_run(suite):
    written = suite.check(VERBATIM, "--mcp-approval-write-baseline=known.toml", client=BROKEN)
    assert written.ret == 1
    path = suite.pytester.path / "known.toml"
    path.write_text(path.read_text().replace('reason = ""', 'reason = "a narrow screen"'))
    known = suite.check(VERBATIM, "--mcp-approval-baseline=known.toml", client=BROKEN)
    assert known.ret == 0, known.stdout.str()


def test_a_client_without_a_family_is_not_held_to_it(suite):
    """Unless the user says that it should be: then nothing of it is there."""
    suite.pytester.makepyfile(
        plain="""
        from pytest_mcp_approval.reference_client.client import ReferenceClient
        from pytest_mcp_approval.reference_client.program import Program

        class Plain(ReferenceClient):
            def needs_approval(self, tool):
                return False

        class Asking(Program):
            client_class = Plain

        class Silent(Asking):
            capabilities = {}

        def asking(arguments, **streams):
            return Asking(arguments, **streams).run()

        def silent(arguments, **streams):
            return Silent(arguments, **streams).run()
        """
    )
    result = suite.check("-v", FEW[1], FEW[0], client="python:plain:asking {url}")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*families elicitation *(not here: sep2672)", "*1 of 1 rule*"])
    named = suite.check("--mcp-approval-family=sep2672", client="python:plain:asking {url}")
    assert named.ret == 10
    named.stdout.fnmatch_lines(["*asks for no challenge before a tool that needs*"])
    nothing = suite.check(client="python:plain:silent {url}")
    assert nothing.ret == 10
    nothing.stdout.fnmatch_lines(["*this client takes part in no approval that the suite knows"])


def test_a_client_of_one_era_is_checked_in_that_one(suite):
    suite.pytester.makepyfile(
        old="""
        from pytest_mcp_approval.reference_client.connection import Connection, ServerError
        from pytest_mcp_approval.reference_client.program import Program

        class Old(Connection):
            def request(self, method, params, *more):
                if method == "server/discover":
                    raise ServerError({"code": -32601})
                return super().request(method, params, *more)

        class Client(Program):
            connection_class = Old

        def main(arguments, **streams):
            return Client(arguments, **streams).run()
        """
    )
    result = suite.check("-v", MODE, FEW[1], client="python:old:main {url}")
    result.stdout.fnmatch_lines(
        ["*speaks   handshake, over HTTP  (not spoken: sessionless)", "*1 of 1 rule checked"]
    )


def test_an_older_revision_asks_less(suite):
    """Before 2025-11-25 there were no modes, and who asks was only recommended to be shown."""
    suite.pytester.makepyfile(
        older="""
        from pytest_mcp_approval.reference_client import connection
        from pytest_mcp_approval.reference_client.connection import Connection, ServerError
        from pytest_mcp_approval.reference_client.program import Program

        class Older(Connection):
            def open(self):
                super().open()
                self.server_name = "a server"

            def request(self, method, params, *more):
                if method == "server/discover":
                    raise ServerError({"code": -32601})
                if method == "initialize":
                    params = {**params, "protocolVersion": "2025-06-18"}
                return super().request(method, params, *more)

        class Client(Program):
            connection_class = Older

        def main(arguments, **streams):
            return Client(arguments, **streams).run()
        """
    )
    person = "--mcp-approval-select=elicitation/client-asks-a-person"
    result = suite.check(MODE, person, client="python:older:main {url}")
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(
        ["*the screen does not say which server asks*", "*there are no modes in 2025-06-18*"]
    )


@pytest.mark.parametrize(
    ("client", "line"),
    [
        ("my-client", "*expected one of {url}, {stdio} and {config} in it*"),
        ("my-client {url} {stdio}", "*expected one of {url}, {stdio} and {config} in it*"),
        ("my-client {url} {tool}", "*expected {tool} and {arguments} together*"),
        ("my-client '{url}", "*cannot read*"),
    ],
)
def test_a_command_that_cannot_be_used_is_told_in_one_line(suite, client, line):
    result = suite.check(client=client)
    assert result.ret == 4
    result.stderr.fnmatch_lines([line])


def test_a_target_and_a_client_are_two_runs(suite):
    result = suite.check("--mcp-approval-target=reference")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*got a target and a client, expected one*"])


def test_the_file_may_name_both_if_the_command_line_says_which(suite):
    (suite.pytester.path / "mcp-approval.toml").write_text(
        f"target = 'reference'\n[client]\ncommand = '{IN_PROCESS}'\npatience = 5\n"
    )
    result = suite.check(FEW[1])
    assert result.ret == 0, result.stdout.str()


@pytest.mark.parametrize("program", ["/nowhere/client", "true", "cat"])
def test_a_program_that_is_no_client_is_told_before_any_verdict(suite, program):
    words = () if program != "cat" else ("--mcp-approval-set=client.patience=0.5",)
    result = suite.check(*words, client=f"{program} {{url}}")
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*the client called no tool of the suite's server*"])


def test_scenarios_about_clients_are_not_collected_for_servers(suite):
    result = suite.run("--collect-only", "-q", "mcp-approval/elicitation")
    assert "test_client_" not in result.stdout.str()
    mine = suite.check("--collect-only", "-q")
    lines = [line for line in mine.outlines if "::" in line]
    assert lines
    assert all("test_client_" in line for line in lines)

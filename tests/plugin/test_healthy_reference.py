"""The healthy reference passes every rule of every family, over transports, stores and eras.

The table below says for each family how its rules are divided, so that the machine's cores share
them and no test takes long, and where some rule cannot pass, and why. A family without a row, a
rule that is in no part, and a verdict other than passed that is not in the table each fail a test;
so does one in the table that does not come.

No scenario is left without a server: in the first combination of its family each one applies, or
the table says in which other run it passes.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict, catalogue
from pytest_mcp_approval.catalogue.requirements import covered, selected
from pytest_mcp_approval.clock.faketime import find_library
from pytest_mcp_approval.config.registry import built_in, registered
from pytest_mcp_approval.reference_server.execution_tokens import verifiers
from pytest_mcp_approval.session.collection import OF_A_CLIENT, ON_A_PAGE
from tests import fewer_cases
from tests.browsers import HINT, find_browser
from tests.combinations import NEW, OLD, Combination, chosen
from tests.inner_browser import shared_browser
from tests.inner_runs import WHOLE, Verdicts, bare_options


@dataclass(frozen=True)
class Part:
    """Some rules of a family, by patterns within it."""

    rules: tuple[str, ...]
    browser: bool = False
    on_a_page: bool = False
    """Only the scenarios that drive the target's page; the same rules may have others."""


@dataclass(frozen=True)
class Shortfall:
    """A rule of which some scenario does not pass here, by no fault of the reference."""

    rule: str
    why: str
    """A part of what the suite says."""
    when: Callable[[str, str, str], bool]
    """By transport, store and era."""
    verdict: Verdict = Verdict.NOT_VERIFIED
    passes: bool = True
    """Whether another of its scenarios passes."""
    exit_code: int = 0
    """The exit code of the run then."""


@dataclass(frozen=True)
class Elsewhere:
    """A scenario that does not apply to the reference in the first combination of its family."""

    rule: str
    scenario: str
    """A function, or one case of it."""
    why: str
    """A part of what the suite says there."""
    passes: str
    """The run in which it does apply, and pass: a transport among the combinations, a shipped
    verifier, or the file of another test. `NOWHERE` is a debt: mutants show that it can fail, no
    healthy server of ours that it can pass."""


@dataclass(frozen=True)
class Row:
    """What a family is asked."""

    combinations: tuple[Combination, ...]
    """The few; `make matrix` takes all. The first runs every case, the others one of each
    scenario."""
    parts: Mapping[str, Part]
    over: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By transport, or transport and store, the parts that depend on it, or that have no other run
    with this store. What is not named here gets all, and so does everything in `make matrix`: as a
    process a server takes a second or more to start."""
    spared: str = ""
    """Over stdio: what starts a server for each case, as an expression for `-k`."""
    sampled: tuple[str, ...] = ()
    """Transports over which one case of each scenario is enough in `make matrix` too."""
    left_out: tuple[Combination, ...] = ()
    """Of all: where the reference can prove nothing."""
    shortfalls: tuple[Shortfall, ...] = ()
    elsewhere: tuple[Elsewhere, ...] = ()
    no_scenario: tuple[str, ...] = ()
    """Rules of the catalogue that the suite does not check, because they bind a client that it
    never meets."""


SQLITE = "in-process+sqlite"
NOWHERE = "nowhere yet"


def in_a_process_without_a_file(transport: str, store: str, era: str) -> bool:
    """It has no replica, and forgets everything when it is started again."""
    return (transport, store) == ("stdio", "memory")


def over_stdio(transport: str, store: str, era: str) -> bool:
    return transport == "stdio"


def in_the_new_era(transport: str, store: str, era: str) -> bool:
    return era == NEW


def in_the_old_era(transport: str, store: str, era: str) -> bool:
    return era == OLD


def without_bash_or_node(transport: str, store: str, era: str) -> bool:
    return not (shutil.which("bash") and shutil.which("node"))


NO_FILE = "the content comes with the call: there is no file to change"
NO_PROCESS = "it runs in the suite's own process"
STEP_BY_STEP = "tests/families/test_step_by_step.py"


def not_killed(rule: str, function: str) -> Elsewhere:
    """Here the reference has no process of its own that could be killed."""
    why = "the suite has not started the server's process"
    scenario = f"test_killed_between_any_two_steps_{function}_at_most"
    return Elsewhere(rule, scenario, why, STEP_BY_STEP)


TABLE: dict[str, Row] = {
    "sep2672": Row(
        combinations=(
            ("in-process", "memory", NEW),
            ("http", "sqlite", OLD),
            ("stdio", "memory", NEW),
        ),
        parts={
            "listings": Part(("4.2*", "4.3*", "4.4-*", "4.4.1*", "4.10*")),
            "enrolment": Part(("4.4.2*",)),
            "challenges": Part(("4.4.3*", "4.5*")),
            "arguments": Part(("4.6*", "4.7*")),
            "evidence": Part(("4.8-0*",)),
            "verification": Part(("4.8-1*",)),
            "properties": Part(("4.8-order", "8*")),
            "page: ceremonies": Part(
                (
                    *("4.4.1-exclude-credentials", "4.4.2-persisted", "8.3.2-counter-zero"),
                    *("4.5-never-executes-unverified", "8.2.3-exactly-once", "4.8-06-*"),
                    *("4.7-cross-platform-excludes-internal", "4.8-07-*"),
                ),
                on_a_page=True,
            ),
            "page: listings": Part(("4.2-client-*", "4.3-client-*"), on_a_page=True),
            "page: evidence": Part(
                ("4.5-client-*", "4.6-client-*", "4.9-client-challenge-*"), on_a_page=True
            ),
            "page: reasons": Part(("4.9-client-surfaces-errors", "4.10-client-*"), on_a_page=True),
            "page: texts": Part(("4.4.3-client-verbatim",), on_a_page=True),
            "page: reviews": Part(("4.9-client-review-*",), on_a_page=True),
        },
        over={"stdio": ("challenges", "arguments", "evidence", "verification", "properties")},
        # Two servers and restarts on a pipe: tests/target/test_targets.py has them.
        spared=(
            "not restart and not two_instances_do_not and not nothing_enrolled "
            "and not killed_between"
        ),
        shortfalls=(
            Shortfall("8.2.3-exactly-once", "needs a second replica", in_a_process_without_a_file),
        ),
        elsewhere=(
            Elsewhere(
                "4.4.2-persisted",
                "test_a_caller_cannot_approve_with_a_further_key_of_its_own",
                "left open by the document",
                "tests/families/test_left_open.py",
            ),
            not_killed("8.2.3-exactly-once", "an_approval_serves_once"),
        ),
    ),
    "confirmation_tokens": Row(
        combinations=(
            ("in-process", "memory", NEW),
            ("in-process", "sqlite", NEW),
            ("http", "sqlite", OLD),
            ("stdio", "sqlite", NEW),
        ),
        parts={
            "tokens": Part(("1.*", "2.*", "3.*")),
            "validation": Part(("4.*",)),
            "window": Part(("5.1-skew-window",)),
            "range": Part(("5.1-skew-range",)),
            "warning": Part(("5.1-skew-warning",)),
            "lifetime": Part(("5.1-default*", "5.1-max*", "5.1-no*", "5.2*", "5.3*", "5.4*")),
            "storage": Part(("5.5*",)),
            "security": Part(("6.1*", "6.2*", "6.3*")),
            "records": Part(("6.4*", "6.5*", "7*")),
        },
        over={
            SQLITE: ("window", "range", "warning", "storage", "records"),
            "http": ("tokens", "validation", "lifetime", "security"),
            "stdio": ("tokens", "validation"),
        },
        spared=" and ".join(f"not [{one}]" for one in ("5", "60", "120", "-1", "301", "3600")),
        shortfalls=(
            Shortfall(
                "6.4-client-context",
                "over stdio there is one user",
                over_stdio,
                verdict=Verdict.NOT_APPLICABLE,
                passes=False,
            ),
        ),
        elsewhere=(not_killed("6.1-replay", "a_token_serves_once"),),
    ),
    "elicitation": Row(
        combinations=(
            ("in-process", "memory", NEW),
            ("in-process", "memory", OLD),
            ("http", "sqlite", OLD),
            ("stdio", "sqlite", NEW),
        ),
        parts={
            "answers": Part(
                (
                    *("asks-first", "accept-*", "decline", "cancel", "unknown-action"),
                    *("response-schema", "*-answers"),
                )
            ),
            "fail closed": Part(
                ("no-capability", "mode-*", "capability-*", "client-error", "model-*", "survey")
            ),
            "silence": Part(("client-silent",)),
            "binding": Part(("first-shot", "state-*")),
            "single use": Part(("single-use*", "replicas", "pending-*")),
            "questions": Part(("question-*", "form-*", "no-default-yes", "url-*")),
        },
        over={
            "http": ("answers", "fail closed", "silence", "binding", "questions"),
            "stdio": ("binding", "single use"),
        },
        spared="not killed_between",
        shortfalls=(
            *(
                Shortfall(
                    rule,
                    "since 2026-07-28 a server sends no requests",
                    in_the_new_era,
                    verdict=Verdict.NOT_APPLICABLE,
                    passes=False,
                )
                for rule in ("client-error", "url-complete-notice")
            ),
            Shortfall(
                "state-session",
                "",
                lambda *one: in_the_new_era(*one) or over_stdio(*one),
                verdict=Verdict.NOT_APPLICABLE,
                passes=False,
            ),
            *(
                Shortfall(
                    rule,
                    "before 2026-07-28 an answer is part of the open call",
                    in_the_old_era,
                    verdict=Verdict.NOT_APPLICABLE,
                    passes=False,
                )
                for rule in (
                    *("capability-of-this-request", "missing-answers", "replicas"),
                    *("single-use-restart", "state-arguments", "state-integrity"),
                    *("state-lifetime", "state-tool"),
                )
            ),
            Shortfall(
                "state-principal",
                "",
                lambda *one: in_the_old_era(*one) or over_stdio(*one),
                verdict=Verdict.NOT_APPLICABLE,
                passes=False,
            ),
            Shortfall(
                "url-other-person",
                "over stdio there is one user",
                over_stdio,
                verdict=Verdict.NOT_APPLICABLE,
                passes=False,
            ),
            Shortfall(
                "replicas",
                "needs a second server",
                lambda *one: in_a_process_without_a_file(*one) and in_the_new_era(*one),
                passes=False,
            ),
        ),
        elsewhere=(
            *(
                Elsewhere(rule, name, "since 2026-07-28 a server sends no requests", "http")
                for rule, names in {
                    "first-shot": (
                        "test_an_answer_that_comes_before_the_question_counts_for_none",
                        "test_answers_in_the_call_itself_count_for_none",
                    ),
                    "state-session": (
                        "test_no_other_user_can_answer",
                        "test_only_the_session_that_was_asked_can_answer",
                    ),
                    "client-error": ("test_an_error_in_place_of_an_answer_is_no_consent",),
                    "url-accept-is-not-done": ("test_a_page_that_nobody_finishes_runs_nothing",),
                    "url-complete-notice": ("test_only_the_session_that_asked_is_told",),
                    "client-silent": (
                        "test_an_answer_that_comes_after_the_end_runs_nothing",
                        "test_an_end_without_an_answer_runs_nothing",
                        "test_the_server_gives_up",
                    ),
                }.items()
                for name in names
            ),
            *(
                Elsewhere(rule, name, why, NOWHERE)
                for rule, name, why in (
                    (
                        "url-shape",
                        "test_an_error_that_names_pages_lists_them",
                        "since 2026-07-28 a server sends no requests",
                    ),
                    ("asks-first", "test_what_needs_no_question_runs_without_one", "silent-arg"),
                    ("state-arguments", "test_an_exempt_argument_may_differ", "no tool has exempt"),
                    (
                        "state-integrity",
                        "test_a_state_that_can_be_read_cannot_be_rewritten",
                        "nothing in the states can be read",
                    ),
                    (
                        "url-other-person",
                        "test_an_address_of_two_pages_opens_neither_for_others",
                        "one part that differs",
                    ),
                    (
                        "single-use-restart",
                        "test_what_was_used_while_the_server_died_runs_once",
                        "the server has no process of its own",
                    ),
                )
            ),
            not_killed("single-use-restart", "a_yes_serves_once"),
            Elsewhere(
                "single-use-race",
                "test_of_many_at_two_replicas_one_runs",
                "replicas are raced over HTTP only",
                NOWHERE,
            ),
            Elsewhere(
                "single-use-restart",
                "test_what_was_used_stays_used",
                "the server has no process of its own",
                "stdio",
            ),
        ),
    ),
    "execution_tokens": Row(
        combinations=(
            ("in-process", "memory", NEW),
            ("in-process", "sqlite", NEW),
            ("http", "sqlite", OLD),
            ("stdio", "sqlite", NEW),
        ),
        parts={
            "strings": Part(("canonical-string", "test-vector", "cross-language")),
            "signatures": Part(("signature", "default-secret")),
            "times": Part(("expiry", "nonce-required")),
            "arbiter": Part(("arbiter-*",)),
            "nonces": Part(("nonce-replay", "nonce-restart", "nonce-race")),
            "scopes": Part(("content-at-execution", "scope-host", "scope-action")),
        },
        over={
            SQLITE: ("strings", "signatures"),
            "http": ("nonces", "scopes", "arbiter"),
            "stdio": ("nonces", "times"),
        },
        spared="not two_restarts and not killed_between",
        shortfalls=(
            # What is kept in memory only is gone with the process: the rule is broken there.
            Shortfall(
                "nonce-restart",
                "",
                in_a_process_without_a_file,
                verdict=Verdict.FAILED,
                passes=False,
                exit_code=1,
            ),
            Shortfall("cross-language", "is not installed", without_bash_or_node),
        ),
        elsewhere=(
            Elsewhere(
                "content-at-execution",
                "test_any_bytes_can_be_approved",
                "content is text here",
                "bash",
            ),
            *(
                Elsewhere("content-at-execution", name, NO_FILE, "bash")
                for name in (
                    "test_a_second_look_at_the_content_is_not_executed",
                    "test_content_that_changes_between_two_looks_runs_as_approved_or_not",
                )
            ),
            Elsewhere(
                "nonce-replay",
                "test_a_token_whose_execution_failed_is_spent",
                "does not decide what comes of an execution",
                "bash",
            ),
            Elsewhere(
                "arbiter-scope",
                "test_whoever_executes_cannot_approve",
                "left open by the document",
                "tests/families/test_left_open.py",
            ),
            not_killed("nonce-restart", "a_token_serves_once"),
            Elsewhere("expiry", "test_the_zone_of_the_machine_is_no_matter", NO_PROCESS, "stdio"),
            Elsewhere(
                "nonce-restart",
                "test_killed_right_after_the_execution_it_is_spent",
                NO_PROCESS,
                "stdio",
            ),
        ),
    ),
    "gateway_consent": Row(
        combinations=(
            ("in-process", "memory", NEW),
            ("in-process", "sqlite", NEW),
            ("http", "sqlite", OLD),
            ("stdio", "sqlite", NEW),
        ),
        parts={
            "consent": Part(("consent-required", "all-platforms", "two-layers")),
            "callers": Part(("caller-*", "key-collision", "tool-isolation")),
            "decisions": Part(("authorize-all", "deny", "remember", "storage-shape")),
            "fields": Part(("dialog-fields", "oauth-authorize"), browser=True),
            "injection": Part(("dialog-injection",), browser=True),
            "storage": Part(("stored-encrypted", "never-logged")),
            "app's oauth": Part(("oauth-pkce", "oauth-token")),
            "gateway's oauth": Part(("oauth-callback", "aai-tools-only-consented")),
            "keys": Part(("api-key", "app-credential")),
            "token requests": Part(("token-request", "app-token-request")),
            "cookies": Part(("cookie",)),
            "credentials": Part(("credential-*", "key-store", "consent-key-store")),
        },
        over={
            SQLITE: ("storage", "app's oauth", "keys", "token requests", "cookies", "credentials"),
            "http": ("consent", "callers", "decisions", "gateway's oauth"),
            "stdio": ("consent",),
        },
        # A server with apps of the suite's own for each; one of them stays.
        spared="not hears_nothing and not stand_for and not denied_tool and not question_tells",
        sampled=("stdio",),  # in the old era one server for each client
        # A client's name comes with the handshake in that era, so that another client is another
        # process, which has no part in the memory of the first: not even an honest approval is
        # seen, and the run ends with exit code 10.
        left_out=(("stdio", "memory", OLD),),
        shortfalls=(
            *(
                Shortfall(name, "keeps nothing over a restart", in_a_process_without_a_file)
                for name in ("api-key", "app-credential", "cookie", "remember", "stored-encrypted")
            ),
        ),
        elsewhere=(
            Elsewhere(
                "caller-identity",
                "test_a_request_does_not_rename_its_session",
                "each request says who asks in this era",
                "http",
            ),
            Elsewhere(
                "consent-required",
                "test_the_client_cannot_answer_its_own_question",
                "left open by the document",
                "tests/families/test_left_open.py",
            ),
            not_killed("remember", "a_consent_serves_one_call"),
            Elsewhere(
                "dialog-fields",
                "test_a_dialog_shows_what_is_asked",
                "the person is asked on a page, which a browser reads",
                "tests/families/gateway_consent/test_exec_gateway.py",
            ),
        ),
        no_scenario=("client-presents-consent",),
    ),
    "prepare_confirm": Row(
        combinations=(
            ("in-process", "memory", NEW),
            ("in-process", "sqlite", NEW),
            ("http", "sqlite", OLD),
            ("stdio", "sqlite", OLD),
        ),
        parts={
            "forgeries": Part(("signature", "missing-token", "failed-execution")),
            "life": Part(("one-time", "secret-key")),
            "expiry": Part(("expired", "cleanup")),
            "steps": Part(
                (
                    *("preview*", "confirm-*", "pairs", "concurrent"),
                    *("action-bound", "nonce", "token-format", "not-*"),
                )
            ),
        },
        over={
            SQLITE: ("forgeries", "expiry"),
            "http": ("steps", "life"),
            "stdio": ("steps",),
        },
        spared="not very_many",  # a thousand calls
        shortfalls=(Shortfall("one-time", "needs a replica", in_a_process_without_a_file),),
        elsewhere=(not_killed("one-time", "a_preview_is_confirmed_once"),),
        no_scenario=(
            *("client-two-steps", "client-shows-preview", "client-starts-over"),
            "client-reports-result",
        ),
    ),
}


def cases() -> Iterable[tuple[str, str, str, str, str]]:
    for family, row in TABLE.items():
        for combination in chosen(*row.combinations):
            if combination in row.left_out:
                continue
            for name, part in row.parts.items():
                if part.on_a_page:
                    # A page is driven over HTTP whatever carries MCP elsewhere: once is enough.
                    wanted = combination == row.combinations[0]
                else:
                    wanted = WHOLE or name in parts_over(row, combination)
                if wanted:
                    yield family, *combination, name


def parts_over(row: Row, combination: Combination) -> Iterable[str]:
    """The parts that a combination is asked when it is one of the few."""
    transport, store, _ = combination
    return row.over.get(f"{transport}+{store}", row.over.get(transport, row.parts))


def patterns_of(family: str, part: Part) -> tuple[str, ...]:
    return tuple(f"{family}/{pattern}" for pattern in part.rules)


def files_about(family: str, prefix: str) -> list[Path]:
    return sorted(registered(family).scenarios.glob(f"{prefix}*.py"))


def rules_in(family: str, prefix: str) -> set[str]:
    """Those that some scenario in a file with this prefix names."""
    text = "".join(path.read_text(encoding="utf-8") for path in files_about(family, prefix))
    return set(re.findall(rf'"({family}/[^"]+)"', text))


def rules_on_a_page(family: str) -> set[str]:
    return rules_in(family, ON_A_PAGE)


def server_rules(family: str) -> set[str]:
    return {rule.id for rule in catalogue(family) if rule.party == "server"}


def passes(result: Mapping[str, Any]) -> bool:
    return bool(result["verdict"] == Verdict.PASSED)


def strangers(
    results: Iterable[Mapping[str, Any]], elsewhere: Sequence[Elsewhere]
) -> set[tuple[str, str]]:
    """The scenarios that did not apply, and that are in no other run either."""
    absent = {
        (one["scenario"].partition("::")[2], one["why"])
        for one in results
        if one["verdict"] == Verdict.NOT_APPLICABLE
    }
    return {
        (name, why)
        for name, why in absent
        if not any(
            one.scenario in (name, name.partition("[")[0]) and one.why in why for one in elsewhere
        )
    }


def expect_every_rule(
    suite: Any,
    family: str,
    part: Part,
    *options: str,
    target: str,
    shortfalls: Sequence[Shortfall] = (),
    elsewhere: Sequence[Elsewhere] | None = None,
    run: str = "",
    plugins: Sequence[object] = (),
) -> None:
    """A run of this part passes, but for what is named, for that reason. `elsewhere`: everything
    else applies, too. `run`: its name, in which the scenarios pass that do not apply elsewhere."""
    listener = Verdicts()
    patterns = patterns_of(family, part)
    result = suite.run(
        *("-q", "--mcp-approval-timeout=60", *bare_options()),
        *(f"--mcp-approval-select={pattern}" for pattern in patterns),
        *options,
        target=target,
        plugins=[listener, *plugins],
    )
    fine = (Verdict.PASSED, Verdict.NOT_APPLICABLE)
    others = [one for one in listener.found if not passes(one)]
    came: set[Shortfall] = set()
    unexpected = set()
    for one in others:
        expected = [
            each
            for each in shortfalls
            if one["verdict"] == each.verdict
            and f"{family}/{each.rule}" in one["rules"]
            and each.why in one["why"]
        ]
        came.update(expected)
        if not expected and one["verdict"] not in fine:
            unexpected.add((one["scenario"], one["verdict"], one["why"]))
    assert unexpected == set()
    here = {each for each in shortfalls if selected(f"{family}/{each.rule}", patterns)}
    assert came == here, "what the table says cannot pass did pass"
    assert result.ret == max((each.exit_code for each in came), default=0)
    if elsewhere is not None:
        assert strangers(listener.found, elsewhere) == set(), "a scenario that no server serves"
    served = {one["scenario"].partition("::")[2] for one in listener.found if passes(one)}
    served |= {name.partition("[")[0] for name in served}
    for lacking in TABLE[family].elsewhere:
        if lacking.passes == run and selected(f"{family}/{lacking.rule}", patterns):
            assert lacking.scenario in served
    rules = rules_on_a_page(family) if part.on_a_page else server_rules(family)
    owed = {rule for rule in rules if selected(rule, patterns)}
    # A scenario may be tied to a rule of another part as well.
    passed = {rule for one in listener.found if passes(one) for rule in one["rules"]}
    broken = {f"{family}/{each.rule}" for each in here if not each.passes}
    assert passed & owed == owed - broken, "every rule was verified, by one scenario at least"


@pytest.mark.parametrize(("family", "transport", "store", "era", "part"), list(cases()))
def test_every_rule_passes(
    suite: Any, family: str, transport: str, store: str, era: str, part: str
) -> None:
    row = TABLE[family]
    asked, combination = row.parts[part], (transport, store, era)
    every_case = transport not in row.sampled if WHOLE else combination == row.combinations[0]
    plugins: list[object] = [] if every_case else [fewer_cases]
    options = [f"--mcp-approval-protocol={era}"]
    if transport == "stdio" and row.spared and not WHOLE:
        options += ["-k", row.spared]
    if asked.browser or asked.on_a_page:
        if find_browser() is None:
            pytest.skip(HINT)
        plugins = [*plugins, shared_browser()]
        options.append("--mcp-approval-findings=none")  # a trace of each page costs a third more
    else:
        options.append("--mcp-approval-browser=none")
    if asked.on_a_page:
        options += [f"mcp-approval/{family}/{path.name}" for path in files_about(family, ON_A_PAGE)]
    expect_every_rule(
        suite,
        family,
        asked,
        *options,
        target=f"reference:{transport}+{store}",
        shortfalls=[one for one in row.shortfalls if one.when(transport, store, era)],
        elsewhere=row.elsewhere if combination == row.combinations[0] else None,
        run=transport if combination in row.combinations else "",
        plugins=plugins,
    )


# ---- the verifiers that ship beside the reference server

FOLDER = Path(verifiers.__file__).parent
VERIFIERS = {
    "bash": (f"bash {FOLDER / 'verify.sh'}", ("times", "nonces", "scopes")),
    "node": (f"node {FOLDER / 'verify.mjs'}", ("strings", "signatures")),
    "python": (f"{sys.executable} {FOLDER / 'verify.py'}", ()),
}
"""How each is called, and the parts that it is asked: here each part once, by `make matrix` all of
all. Each case is one process or more. That they agree in every part is in test_verifiers.py, and
the scenarios of "strings" ask them all."""
VERIFIER_SHORTFALLS = (
    Shortfall("cross-language", "is not installed", without_bash_or_node),
    Shortfall("expiry", "", lambda *_: find_library() is None),
    *(
        Shortfall(
            rule, "only verifies", lambda *_: True, verdict=Verdict.NOT_APPLICABLE, passes=False
        )
        for rule in ("arbiter-scope", "arbiter-expiry")
    ),
)


@pytest.mark.parametrize(
    ("language", "part"),
    [
        (language, part)
        for language, (_, parts) in VERIFIERS.items()
        for part in (TABLE["execution_tokens"].parts if WHOLE else parts)
    ],
)
def test_a_shipped_verifier_passes_every_rule(suite: Any, language: str, part: str) -> None:
    command, _ = VERIFIERS[language]
    if not shutil.which(command.split()[0]):
        pytest.skip(f"{language} is not installed")
    lacking = [one for one in VERIFIER_SHORTFALLS if one.when("", "", "")]
    expect_every_rule(
        suite,
        "execution_tokens",
        TABLE["execution_tokens"].parts[part],
        target=f"command:{command}",
        shortfalls=lacking,
        run=language,
        plugins=[] if WHOLE else [fewer_cases],
    )


# ---- the table itself


def test_every_family_has_a_row() -> None:
    assert sorted(TABLE) == sorted(built_in())


@pytest.mark.parametrize("family", TABLE)
def test_the_parts_are_the_whole(family: str) -> None:
    row = TABLE[family]
    rules = {rule.id for rule in catalogue(family)}
    unchecked = {f"{family}/{name}" for name in row.no_scenario}
    assert rules - covered(family) == unchecked
    for on_a_page, owed in ((False, server_rules(family)), (True, rules_on_a_page(family))):
        parts = [part for part in row.parts.values() if part.on_a_page == on_a_page]
        for rule in owed:
            owners = [part for part in parts if selected(rule, patterns_of(family, part))]
            assert len(owners) == 1, rule
    of_clients = rules_in(family, OF_A_CLIENT)  # tests/reference_client has a healthy one
    assert server_rules(family) | rules_on_a_page(family) | of_clients | unchecked == rules


@pytest.mark.parametrize("family", TABLE)
def test_the_table_names_what_there_is(family: str) -> None:
    row = TABLE[family]
    over = {f"{one[0]}+{one[1]}" for one in row.combinations} | {one[0] for one in row.combinations}
    assert row.over.keys() <= over
    for names in row.over.values():
        assert set(names) <= set(row.parts)
    assert not set(row.left_out) & set(row.combinations)
    for one in row.shortfalls:
        assert f"{family}/{one.rule}" in server_rules(family)
    for lacking in row.elsewhere:
        assert f"{family}/{lacking.rule}" in server_rules(family)
        runs = runs_of(family, lacking.rule) | {NOWHERE}
        assert lacking.passes in runs or Path(lacking.passes).is_file()


@pytest.mark.parametrize("family", TABLE)
def test_every_part_meets_each_store(family: str) -> None:
    """At least once; a dialog in a browser knows no store. And each transport and era is met."""
    row = TABLE[family]
    for store in ("memory", "sqlite"):
        asked = {
            name
            for combination in row.combinations
            if combination[1] == store
            for name in parts_over(row, combination)
        }
        on_pages = {name for name, part in row.parts.items() if part.browser or part.on_a_page}
        assert row.parts.keys() - on_pages <= asked, store
    transports, _, eras = map(set, zip(*row.combinations, strict=True))
    assert (transports, eras) == ({"in-process", "http", "stdio"}, {NEW, OLD})


def runs_of(family: str, rule: str) -> set[str]:
    """The names of the runs that ask for this rule, off any page."""
    row = TABLE[family]
    [part] = [
        name
        for name, part in row.parts.items()
        if not part.on_a_page and selected(f"{family}/{rule}", patterns_of(family, part))
    ]
    runs = {one[0] for one in row.combinations if part in parts_over(row, one)}
    if family == "execution_tokens":
        runs |= {language for language, (_, parts) in VERIFIERS.items() if part in parts}
    return runs


def test_a_scenario_that_no_server_serves_is_noticed() -> None:
    known = Elsewhere("rule", "test_one[a]", "no such thing", "http")
    absent = {"verdict": Verdict.NOT_APPLICABLE, "why": "there is no such thing here"}
    results = [
        {**absent, "scenario": "file.py::test_one[a]"},
        {**absent, "scenario": "file.py::test_one[b]"},
        {**absent, "scenario": "file.py::test_one[a]", "why": "another reason"},
        {**absent, "scenario": "file.py::test_two", "verdict": Verdict.PASSED},
    ]
    assert strangers(results, [known]) == {
        ("test_one[b]", "there is no such thing here"),
        ("test_one[a]", "another reason"),
    }

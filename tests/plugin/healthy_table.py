"""How the rules of each family are divided among runs on the healthy reference, so that the
machine's cores share them and no test takes long; where some rule cannot pass, and why.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pytest_mcp_approval.catalogue import Verdict
from tests.combinations import NEW, OLD, Combination


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


USUAL: tuple[Combination, ...] = (
    ("in-process", "memory", NEW),
    ("in-process", "sqlite", NEW),
    ("http", "sqlite", OLD),
    ("stdio", "sqlite", NEW),
)
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
        combinations=USUAL,
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
            *(
                Shortfall(
                    rule,
                    "needs a second server",
                    lambda *one: in_a_process_without_a_file(*one) and in_the_new_era(*one),
                    passes=passes,
                )
                for rule, passes in (("replicas", False), ("single-use-race", True))
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
        combinations=USUAL,
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
        combinations=USUAL,
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
        shortfalls=tuple(
            Shortfall(rule, "needs a replica", in_a_process_without_a_file)
            for rule in ("one-time", "concurrent")
        ),
        elsewhere=(not_killed("one-time", "a_preview_is_confirmed_once"),),
        no_scenario=(
            *("client-two-steps", "client-shows-preview", "client-starts-over"),
            "client-reports-result",
        ),
    ),
}

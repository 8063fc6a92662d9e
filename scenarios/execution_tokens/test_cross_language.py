"""Python, Bash and Node: the same token, the same answer."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import pytest_mcp_approval
from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.execution_tokens.command_verifier import CommandVerifier
from pytest_mcp_approval.families.execution_tokens.corpus import NAMED, WITHOUT_NUMBERS, generated
from pytest_mcp_approval.families.execution_tokens.token_making import FAULTY_SIGNING
from pytest_mcp_approval.target import open_target

VERIFIERS = Path(pytest_mcp_approval.__file__).parent.joinpath(
    "reference_server", "execution_tokens", "verifiers"
)
SHIPPED = {
    "Python": (sys.executable, "verify.py"),
    "Bash": ("bash", "verify.sh"),
    "Node": ("node", "verify.mjs"),
}
SAMPLES = 5


def _corpus(executions):
    """Tokens, and whether they are good: odd scopes, each also with something wrong."""
    keeps = executions.keeps_numbers
    scopes = {name: NAMED[name] for name in (NAMED if keeps else WITHOUT_NUMBERS)}
    if keeps:
        scopes |= generated(60 if executions.verifier.quick else SAMPLES)
    wrong = [FAULTY_SIGNING["compact JSON"], FAULTY_SIGNING["a line end after it"]]
    found = {}
    for number, (name, scope) in enumerate(scopes.items()):
        found[name] = (executions.token(scope=scope), True)
        if executions.verifier.quick or number % 4 == 0:
            token = executions.token(scope=scope, signing=wrong[number % 2])
            found[f"{name}, another string signed"] = (token, False)
    return found


@requirement("execution_tokens/cross-language")
def test_the_target_says_what_the_document_says(executions):
    executions.need_secret()
    corpus = _corpus(executions)
    answers = executions.execute_each([token for token, _ in corpus.values()])
    for (name, (_, good)), answer in zip(corpus.items(), answers, strict=True):
        executions.expect(
            answer.accepted is good,
            sent=f"a {'good' if good else 'forged'} token: {name}",
            expected="accepted" if good else "refused",
            got=answer.describe(),
        )


@requirement("execution_tokens/cross-language")
@pytest.mark.parametrize("language", SHIPPED)
def test_a_shipped_verifier_agrees_with_the_target(executions, language):
    """The same tokens, the same secret, each with its own nonce log."""
    executions.need_secret()
    program, file = SHIPPED[language]
    if not shutil.which(program):
        raise NotVerified(f"{language} is not installed, so it cannot be compared with")
    text = f"command:{program} {VERIFIERS / file}"
    target = open_target(text, replace(executions.target.settings, clock="none"))
    try:
        shipped = executions.over(_command(target, executions), "a verifier that ships")
        good = {name: executions.token(scope=scope) for name, scope in _few(executions).items()}
        bad = {
            "another string signed": executions.token(signing=FAULTY_SIGNING["compact JSON"]),
            "no nonce": executions.changed(executions.token(), nonce=None),
        }
        tokens = {**good, **bad}
        theirs = executions.execute_each(list(tokens.values()))
        ours = shipped.execute_each(list(tokens.values()))
        for name, one, other in zip(tokens, theirs, ours, strict=True):
            executions.expect(
                one.accepted is other.accepted,
                sent=f"the same token to the target and to the verifier in {language}: {name}",
                expected=f"the same of both; the one in {language}: {other.describe()}",
                got=one.describe(),
            )
    finally:
        target.close()


def _few(executions):
    names = ["keys in another order, at every depth", "letters beyond the first plane"]
    keeps = executions.keeps_numbers
    return {name: NAMED[name] for name in [*names, *(["numbers with a fraction"] if keeps else [])]}


def _command(target, executions):
    table = replace(executions.table, secret_environment="EXECUTION_TOKEN_SECRET")
    return CommandVerifier(target, table, secret=executions.driver.secret)

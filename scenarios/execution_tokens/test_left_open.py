"""What ADR-006 leaves open, as information: who may ask the arbiter, and what a host is for."""

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.execution_tokens.verifier_access import VerifierError


@requirement("execution_tokens/arbiter-scope")
def test_whoever_executes_cannot_approve(executions):
    """One caller asks the arbiter for a token, and the operator to execute it. The document does
    not say who asks the arbiter."""
    driver = executions.driver
    try:
        token = executions.verifier.approve(
            driver.content, driver.table.action, [driver.table.host], 60
        )
    except VerifierError:
        return  # the arbiter does not serve this caller
    if token is None:
        raise NotApplicable("the target approves nothing, it only verifies")
    if executions.execute(token).accepted:
        executions.left_open("whoever may execute can have it approved, by the same connection")


@requirement("execution_tokens/scope-host")
def test_a_token_for_hosts_needs_a_host(executions):
    """A verifier that is not told the host cannot compare it. The document does not say whether a
    token that names hosts may be used without one."""
    executions.need_argument("host")
    host = executions.table.host
    executions.honest(host=f"https://{host}/")
    if executions.execute(executions.token(), host=None).accepted:
        executions.left_open("a token that names hosts is accepted without a host to compare")

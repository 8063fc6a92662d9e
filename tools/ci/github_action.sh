#!/usr/bin/env bash
# What the action does: installs the suite that it comes with, and checks one server.
#
# All inputs are environment variables (action.yml): MCP_APPROVAL_TARGET, _SERVER, _OPTIONS (one on
# each line), _REQUIRE_VERIFIED. None is evaluated, and none is split at blanks.
# MCP_APPROVAL_COMMAND names a command that is there already; then nothing is installed.
set -euo pipefail

reports=${RUNNER_TEMP:?"is not set: this runs in a GitHub job"}/mcp-approval-reports
mkdir -p "$reports"

command=${MCP_APPROVAL_COMMAND:-}
if [[ -z $command ]]; then
    environment=$RUNNER_TEMP/mcp-approval
    python -m venv "$environment"
    programs=$environment/bin
    [[ -d $programs ]] || programs=$environment/Scripts
    "$programs/python" -m pip install --quiet --disable-pip-version-check "$GITHUB_ACTION_PATH"
    command=$programs/mcp-approval
fi

words=(check)
if [[ -n ${MCP_APPROVAL_TARGET:-} ]]; then
    words+=("$MCP_APPROVAL_TARGET")
fi
if [[ -n ${MCP_APPROVAL_SERVER:-} ]]; then
    words+=("--server=$MCP_APPROVAL_SERVER")
fi
case ${MCP_APPROVAL_REQUIRE_VERIFIED:-false} in
true) words+=(--require-verified) ;;
false) ;;
*)
    echo "::error::require-verified: expected true or false"
    exit 4
    ;;
esac
while IFS= read -r option || [[ -n $option ]]; do
    option=${option%$'\r'}
    # Leading and trailing blanks come from YAML; empty lines and comments are for people.
    option=${option#"${option%%[![:space:]]*}"}
    option=${option%"${option##*[![:space:]]}"}
    if [[ -n $option && $option != \#* ]]; then
        words+=("$option")
    fi
done <<<"${MCP_APPROVAL_OPTIONS:-}"
for ending in html json sarif; do
    words+=("--report=$reports/report.$ending")
done
words+=("--junitxml=$reports/junit.xml")

code=0
"$command" "${words[@]}" || code=$?

{
    echo "exit-code=$code"
    echo "reports=$reports"
    if [[ -s $reports/report.sarif ]]; then
        echo "sarif=$reports/report.sarif"
    fi
} >>"${GITHUB_OUTPUT:?"is not set: this runs in a GitHub job"}"

case $code in
0) ;;
1) echo "::error::the server breaks a rule that it has to keep: see the summary of this job" ;;
10) echo "::error::nothing is proved: no honest approval succeeded, or there was nothing to check" ;;
11) echo "::error::the server died, hung or stopped answering on the way" ;;
*) echo "::error::the check could not be run (exit code $code)" ;;
esac
exit "$code"

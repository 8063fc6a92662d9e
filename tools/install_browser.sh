#!/usr/bin/env bash
# Sees to a browser for the tests that need one. Quick and silent where there is one already; where
# none can be had, one line says what to do, and those tests are skipped.
#
#   tools/install_browser.sh PYTHON
set -uo pipefail
python=${1:-python3}

found() { "$python" -m tests.browsers >/dev/null 2>&1; }

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 0
found && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "browser: installing chromium with apt-get"
  export DEBIAN_FRONTEND=noninteractive
  { timeout 120 apt-get update -qq; timeout 600 apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1
  found && exit 0
fi
echo "browser: installing chromium with playwright"
timeout 300 "$python" -m playwright install chromium >/dev/null 2>&1
found && exit 0
echo "browser: none found, so the tests that need one are skipped; install chromium, or name one with MCP_APPROVAL_BROWSER=/path/to/it"
exit 0

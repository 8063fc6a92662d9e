#!/bin/sh
# Have libfaketime for the tests that move a foreign server's clock. It is no dependency: those tests
# are skipped without it, so whatever happens here is no failure.
set -u

found() {
    [ -n "${MCP_APPROVAL_LIBFAKETIME:-}" ] && return 0
    for folder in /usr/lib/*/faketime /usr/lib/faketime /usr/lib64/faketime /usr/local/lib/faketime \
        /opt/homebrew/lib/faketime; do
        for library in "$folder"/libfaketime*; do
            [ -e "$library" ] && return 0
        done
    done
    return 1
}

found && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "setup: libfaketime is not installed (apt install faketime): tests that need it are skipped"
    exit 0
fi
echo "setup: installing libfaketime with apt-get, for the tests of foreign clocks"
export DEBIAN_FRONTEND=noninteractive
options="-qq --yes --no-install-recommends"
# shellcheck disable=SC2086  # several words
timeout 120 apt-get install $options faketime >/dev/null 2>&1 ||
    { timeout 120 apt-get update -qq >/dev/null 2>&1 && timeout 120 apt-get install $options faketime >/dev/null 2>&1; }
found || echo "setup: libfaketime could not be installed: tests that need it are skipped"
exit 0

#!/bin/sh
# See to a Debian package that some tests need. Quick and silent where one of the files is there;
# where it cannot be had, one line says so and those tests are skipped: no failure of this script.
#
#   tools/install_package.sh PACKAGE WHAT-FOR FILE-PATTERN...
set -u
package=$1
purpose=$2
shift 2
patterns=$*

found() {
    for file in $patterns; do # the patterns are expanded here
        [ -e "$file" ] && return 0
    done
    return 1
}

found && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "setup: $package is not installed (apt install $package): $purpose are skipped"
    exit 0
fi
echo "setup: installing $package with apt-get, for $purpose"
export DEBIAN_FRONTEND=noninteractive
options="-qq --yes --no-install-recommends"
# shellcheck disable=SC2086  # several words
timeout 300 apt-get install $options "$package" >/dev/null 2>&1 ||
    { timeout 120 apt-get update -qq >/dev/null 2>&1 && timeout 300 apt-get install $options "$package" >/dev/null 2>&1; }
found || echo "setup: $package could not be installed: $purpose are skipped"
exit 0

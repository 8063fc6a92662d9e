#!/usr/bin/env bash
# Verifies an execution token (ADR-006) on the command line, in Bash with openssl, od, awk and date.
#
#   verify.sh --token FILE --content FILE --nonce-log FOLDER --action TYPE [--host URL] [-- COMMAND]
#
# The secret is in EXECUTION_TOKEN_SECRET. One line of JSON on standard output, and an exit code:
# 0 accepted (and the nonce spent), 1 refused, 2 not started. A COMMAND gets the very bytes that
# were hashed on standard input, and its output goes to standard error. `-` for a file is
# standard input. The secret is never an argument of a command, where other users could see it.
# What Bash can do itself is not left to a command: starting them takes most of the time.
set -uo pipefail
export LC_ALL=C
here=${BASH_SOURCE[0]%/*}
[[ $here != "${BASH_SOURCE[0]}" ]] || here=.

not_started() { printf '{"accepted": false, "error": "%s"}\n' "$1"; exit 2; }
refuse() { printf '{"accepted": false, "reason": "%s", "message": "%s"}\n' "$1" "$2"; exit 1; }

# ---- the secret: none, empty, known and short ones are refused before anything else

[[ -v EXECUTION_TOKEN_SECRET ]] || not_started "EXECUTION_TOKEN_SECRET: got none, expected a secret of your own"
secret=$EXECUTION_TOKEN_SECRET
stripped=${secret#"${secret%%[![:space:]]*}"}
stripped=${stripped%"${stripped##*[![:space:]]}"}
[[ -n $stripped ]] || not_started "EXECUTION_TOKEN_SECRET: got an empty one, expected a secret of your own"
[[ $stripped != CHANGE-ME-IN-PRODUCTION ]] || not_started "EXECUTION_TOKEN_SECRET: got CHANGE-ME-IN-PRODUCTION, expected a secret of your own"
((${#secret} >= 16)) || not_started "EXECUTION_TOKEN_SECRET: got ${#secret} bytes, expected at least 16"
unset EXECUTION_TOKEN_SECRET stripped

# ---- the options

token_file='' content_file='' nonce_log='' action='' action_given='' host='' host_given=''
command=()
while (($#)); do
    case $1 in
        --token | --content | --nonce-log | --action | --host)
            (($# > 1)) || not_started "$1: got no value"
            case $1 in
                --token) token_file=$2 ;;
                --content) content_file=$2 ;;
                --nonce-log) nonce_log=$2 ;;
                --action) action=$2 action_given=yes ;;
                --host) host=$2 host_given=yes ;;
            esac
            shift 2
            ;;
        --) shift; command=("$@"); break ;;
        *) not_started "an unknown option" ;;
    esac
done
[[ -n $token_file && -n $content_file && -n $nonce_log && -n $action_given ]] ||
    not_started "expected --token, --content, --nonce-log and --action"
for tool in openssl od awk date; do
    type -P "$tool" >/dev/null || not_started "needs $tool"
done

# ---- the files, read once: what is hashed is what runs

work=$(mktemp -d) || not_started "no temporary folder"
trap 'rm -rf "$work"' EXIT
copy() {
    if [[ $1 == - ]]; then cat >"$2"; else cat -- "$1" >"$2"; fi 2>/dev/null || not_started "a file that cannot be read"
}
copy "$token_file" "$work/token"
copy "$content_file" "$work/content"
[[ -d $nonce_log ]] || mkdir -p -- "$nonce_log" 2>/dev/null || not_started "a nonce log that cannot be written"

bytes_of() { od -An -v -tu1; }

# SHA-256 of standard input; openssl writes the file's name behind it.
sha256() { openssl dgst -sha256 -r; }

# HMAC-SHA256 (RFC 2104) by two hashes: `openssl dgst -hmac` wants its key as an argument.
key=()
if ((${#secret} <= 64)); then
    for ((i = 0; i < ${#secret}; i++)); do
        printf -v byte '%d' "'${secret:i:1}"
        key+=($((byte & 255))) # below zero for some Bash, beyond ASCII
    done
else
    digest=$(printf '%s' "$secret" | sha256)
    [[ $digest =~ ^[0-9a-f]{64} ]] || not_started "openssl failed"
    for ((i = 0; i < 64; i += 2)); do key+=($((0x${digest:i:2}))); done
fi
inner='' outer=''
for ((i = 0; i < 64; i++)); do
    printf -v one '\\x%02x' $((${key[i]:-0} ^ 0x36))
    printf -v two '\\x%02x' $((${key[i]:-0} ^ 0x5c))
    inner+=$one outer+=$two
done
unset secret key
hmac() {
    local digest escaped='' i
    digest=$({ printf '%b' "$inner"; printf '%s' "$1"; } | sha256)
    [[ $digest =~ ^[0-9a-f]{64} ]] || not_started "openssl failed"
    for ((i = 0; i < 64; i += 2)); do escaped+="\\x${digest:i:2}"; done
    digest=$(printf '%b' "$outer$escaped" | sha256)
    keyed_hash=${digest%% *}
}

# ---- the token's members

declare -A member=()
hosts=()
while IFS=$'\t' read -r name value; do
    case $name in
        malformed) refuse malformed "token: $value" ;;
        host) hosts+=("$value") ;;
        *) member[$name]=$value ;;
    esac
done < <(bytes_of <"$work/token" | awk -f "$here/canonical.awk")
[[ ${member[whole]:-} == yes ]] || refuse malformed "token: got something that cannot be read"

bare() { printf -v "$1" '%s' "${member[$1]:1:${#member[$1]}-2}"; }
uuid='^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$'
instant='^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(\.([0-9]{1,9}))?(Z|\+00:00)$'
for name in token_id nonce expires_at signature content_hash; do bare "$name"; done
[[ $token_id =~ $uuid ]] || refuse malformed "token_id: got something else, expected a UUID"
[[ $nonce =~ $uuid ]] || refuse malformed "nonce: got something else, expected a UUID"
[[ $signature =~ ^[0-9a-f]{64}$ ]] || refuse malformed "signature: got something else, expected 64 hexadecimal digits"
[[ $content_hash =~ ^(sha256:)?[0-9a-f]{64}$ ]] || refuse malformed "content_hash: got something else, expected 64 hexadecimal digits"
[[ $expires_at =~ $instant ]] || refuse malformed "expires_at: got something else, expected an RFC 3339 instant in UTC"
year=$((10#${BASH_REMATCH[1]})) month=$((10#${BASH_REMATCH[2]})) day=$((10#${BASH_REMATCH[3]}))
hour=$((10#${BASH_REMATCH[4]})) minute=$((10#${BASH_REMATCH[5]})) second=$((10#${BASH_REMATCH[6]}))
fraction=${BASH_REMATCH[8]:-0}000000
month_days=(0 31 28 31 30 31 30 31 31 30 31 30 31)
((year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))) && month_days[2]=29
((year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= month_days[month] && hour <= 23 && minute <= 59 && second <= 59)) ||
    refuse malformed "expires_at: got a date or time that does not exist"

# ---- the checks, in order

# The signature: over the literal text, without a line end. Compared as numbers, all of it whatever
# the beginning is, so that the time does not reveal the expected one.
canonical="$token_id:$nonce:$expires_at:${member[scope_json]}"
hmac "$canonical"
expected=$keyed_hash
[[ $expected =~ ^[0-9a-f]{64}$ ]] || not_started "openssl failed"
difference=0
for ((i = 0; i < 64; i += 8)); do
    ((difference |= 0x${expected:i:8} ^ 0x${signature:i:8}))
done
((difference == 0)) ||
    refuse bad_signature "signature: got another one than was expected"

# The expiry, in microseconds since 1970 (days of the civil calendar, years beginning in March).
y=$((month <= 2 ? year - 1 : year)) m=$(((month + 9) % 12))
days=$((365 * y + y / 4 - y / 100 + y / 400 + (m * 306 + 5) / 10 + day - 1 - 719468))
expiry=$((((days * 24 + hour) * 60 + minute) * 60 + second))
expiry=$((expiry * 1000000 + 10#${fraction:0:6}))
# From `date`, not from Bash: tests move the time with libfaketime, which does not affect Bash.
now=$(date +%s%6N 2>/dev/null)
if [[ ! $now =~ ^[0-9]{16,}$ ]]; then # a date that knows whole seconds only
    now=$(date +%s)
    [[ $now =~ ^[0-9]{10,}$ ]] || not_started "date failed"
    now=$((now * 1000000))
fi
((now < expiry)) || refuse expired "expires_at: $expires_at has passed"

# The action, both as JSON writes them in ASCII: plain letters as they are.
if [[ $action =~ ^[A-Za-z0-9_.:/-]+$ ]]; then
    quoted_action="text"$'\t'"\"$action\""
else
    quoted_action=$(printf '%s' "$action" | bytes_of | awk '
        function digit(n) { return n < 10 ? 48 + n : 87 + n }
        BEGIN { printf "34 " }
        {
            for (i = 1; i <= NF; i++) {
                b = $i + 0
                if (b < 32) printf "92 117 48 48 %d %d ", digit(int(b / 16)), digit(b % 16)
                else printf "%s%d ", b == 34 || b == 92 ? "92 " : "", b
            }
        }
        END { print 34 }' | awk -v TEXT_ONLY=1 -f "$here/canonical.awk")
fi
[[ $quoted_action == *$'\t'* ]] || not_started "awk failed"
[[ $quoted_action == "text"$'\t'"${member[action_type]}" ]] ||
    refuse action_not_allowed "action_type: got another one than was approved"

# The host: whole, in lower case, without the dot of the root. Letters beyond ASCII are refused:
# such a host is written as xn--...
host_name() {
    local name=${1,,}
    name=${name%.}
    ((${#name} <= 253)) || return 1
    [[ $name =~ ^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$ ]] || return 1
    host_found=$name
}
if [[ -n $host_given ]]; then
    authority=$host
    if [[ $host == *://* ]]; then
        scheme=${host%%://*}
        [[ ${scheme,,} == http || ${scheme,,} == https ]] ||
            refuse host_not_allowed "host: got a URL of another scheme, expected http or https"
        authority=${host#*://}
        authority=${authority%%[/?#]*}
    fi
    # With a valid port number, or none after the colon.
    if [[ $authority =~ ^([^:]*):([0-9]*)$ ]]; then
        authority=${BASH_REMATCH[1]}
        port=${BASH_REMATCH[2]}
        ((${#port} <= 5 && 10#${port:-0} <= 65535)) || refuse host_not_allowed "host: got no host, or a port that is no number"
    fi
    host_name "$authority" || refuse host_not_allowed "host: got no host name"
    wanted=$host_found
    allowed=''
    for entry in ${hosts[@]+"${hosts[@]}"}; do
        entry=${entry:1:${#entry}-2}
        host_name "$entry" && name=$host_found && [[ $name == "$wanted" ]] && allowed=yes
    done
    [[ -n $allowed ]] || refuse host_not_allowed "host: got one that was not approved"
elif ((${#hosts[@]} > 0)); then
    # A token for some hosts is for nothing else.
    refuse host_not_allowed "host: got none, expected an approved one"
fi

# The content: the hash of the very bytes that will run.
found=$(sha256 <"$work/content")
found=${found%% *}
((${#found} == 64)) || not_started "openssl failed"
[[ $found == "${content_hash#sha256:}" ]] ||
    refuse content_mismatch "content: got other bytes than were approved"

# The nonce, last: one system call creates the file, only if it is not there, and it is on disk
# before anything runs.
spent=$nonce_log/${nonce,,}
set -o noclobber
{ : >"$spent"; } 2>/dev/null || {
    [[ -e $spent ]] && refuse nonce_spent "nonce: it is spent"
    not_started "a nonce log that cannot be written"
}
set +o noclobber
sync -- "$nonce_log" 2>/dev/null || sync

if ((${#command[@]})); then
    "${command[@]}" <"$work/content" >&2
    printf '{"accepted": true, "token_id": "%s", "exit_code": %d}\n' "$token_id" $?
else
    printf '{"accepted": true, "token_id": "%s"}\n' "$token_id"
fi

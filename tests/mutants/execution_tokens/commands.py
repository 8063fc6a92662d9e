"""Broken verifiers that are commands: copies of those in Bash and Node, with a line or two changed.

A copy is made in the folder of the test that judges it.
"""

from __future__ import annotations

from pathlib import Path

from pytest_mcp_approval.reference_server.execution_tokens import verifiers
from tests.mutants.registry import Mutant, register

SHIPPED = Path(verifiers.__file__).parent
FILES = {"bash": ("verify.sh", "canonical.awk"), "node": ("verify.mjs",)}
SPENDS = 'set -o noclobber\n{ : >"$spent"; } 2>/dev/null || {'


def broken(
    name: str,
    language: str,
    fault: str,
    *changes: tuple[str, str],
    kills: str,
    because: str,
    warned: bool = False,
) -> None:
    """Registers one; each change is a text that must stand in one of the files, and another."""
    texts = {file: (SHIPPED / file).read_text(encoding="utf-8") for file in FILES[language]}
    for old, new in changes:
        holders = [file for file, text in texts.items() if old in text]
        assert holders, f"{name}: {old!r} does not stand in the verifier any more"
        texts[holders[0]] = texts[holders[0]].replace(old, new)

    def make(folder: Path) -> str:
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        return f"{language} {folder / FILES[language][0]}"

    rule = f"execution_tokens/{kills}"
    words = f"({language}) {fault}"
    register(Mutant(name, __name__, rule, because, words, warned, command=make))


# ---- Bash

broken(
    "BashWritesCompactJson",
    "bash",
    "Writes the scope as jq -cS does.",
    ('(i > 1 ? ", " : "") names[i] ": "', '(i > 1 ? "," : "") names[i] ":"'),
    ('(count++ ? ", " : "")', '(count++ ? "," : "")'),
    kills="cross-language",
    because="a good token: [^§]*accepted[^§]*bad_signature",
)
broken(
    "BashSignsALineEnd",
    "bash",
    "Lets echo end the line that is signed.",
    ('hmac "$canonical"\n', """hmac "$canonical"$'\\n'\n"""),
    kills="test-vector",
    because="a line end after it signed[^§]*exit code 0",
)
broken(
    "BashComparesTheBeginning",
    "bash",
    "Compares as much of the signature as there is.",
    ("[[ $signature =~ ^[0-9a-f]{64}$ ]]", "[[ $signature =~ ^[0-9a-f]+$ ]]"),
    ("((difference == 0)) ||", '[[ $expected == "$signature"* ]] ||'),
    kills="signature",
    because="(the first (half|byte) of its signature|but for the last digit)[^§]*exit code 0",
)
broken(
    "BashKeepsNoLog",
    "bash",
    "Has no log of nonces.",
    (SPENDS, "true || {"),
    kills="nonce-replay",
    because="the same token, for time 2[^§]*exit code 0",
)
broken(
    "BashLogsAfterwards",
    "bash",
    "Writes the nonce down when the execution is over.",
    (SPENDS, "[[ ! -e $spent ]] || {"),
    ('"${command[@]}" <"$work/content" >&2', '"${command[@]}" <"$work/content" >&2; : >"$spent"'),
    kills="nonce-restart",
    because="was killed[^§]*exit code 0",
)
broken(
    "BashLooksThenLogs",
    "bash",
    "Looks into its log first, and writes into it a moment later.",
    (SPENDS, '[[ ! -e $spent ]] && sleep 0.5 && : >"$spent" || {'),
    kills="nonce-race",
    because="8 times at once[^§]*[2-8] accepted",
)
broken(
    "BashReadsTheContentAgain",
    "bash",
    "Hashes a file and executes what the file has a moment later.",
    ('"${command[@]}" <"$work/content" >&2', '"${command[@]}" <"$content_file" >&2'),
    kills="content-at-execution",
    because="for who reads it twice[^§]*something else",
)
broken(
    "BashComparesTheEndOfAHost",
    "bash",
    "Takes every host that ends like an allowed one.",
    ('[[ $name == "$wanted" ]] && allowed=yes', '[[ $wanted == *"$name" ]] && allowed=yes'),
    kills="scope-host",
    because="with a subdomain[^§]*exit code 0",
)
broken(
    "BashComparesActionsByPattern",
    "bash",
    "Takes the action type of the scope for a beginning.",
    (
        '[[ $quoted_action == "text"$\'\\t\'"${member[action_type]}" ]]',
        '[[ $quoted_action == "text"$\'\\t\'"${member[action_type]%?}"* ]]',
    ),
    kills="scope-action",
    because="a blank after its action type[^§]*exit code 0",
)
broken(
    "BashTakesTheDefaultSecret",
    "bash",
    "Starts with the secret that everybody knows.",
    ("[[ $stripped != CHANGE-ME-IN-PRODUCTION ]]", "true"),
    kills="default-secret",
    because="the known default secret[^§]*exit code 0",
)
broken(
    "BashRunsAHereString",
    "bash",
    "Gives the command a here-string, which has just one line end and no NUL.",
    (
        '"${command[@]}" <"$work/content" >&2',
        '"${command[@]}" <<<"$(cat "$work/content" 2>/dev/null)" >&2',
    ),
    kills="content-at-execution",
    because=r"just these bytes are executed\nexecuted \(b.\\xff bytes",
)
broken(
    "BashTakesEveryDate",
    "bash",
    "Lets date read an expiry that it does not know, which also reads words such as tomorrow.",
    (
        "[[ $expires_at =~ $instant ]] || refuse",
        "[[ $expires_at =~ $instant ]] || "
        '[[ $(date -ud "$expires_at" +%FT%TZ 2>/dev/null) =~ $instant ]] || refuse',
    ),
    kills="expiry",
    because="a naive expires_at[^§]*exit code 0",
)
broken(
    "BashComparesActionsWithoutQuotes",
    "bash",
    "Leaves out the quotes at the right of ==, so that the approved action type is a pattern.",
    (
        '[[ $quoted_action == "text"$\'\\t\'"${member[action_type]}" ]]',
        "[[ $quoted_action == \"text\"$'\\t'${member[action_type]} ]]",
    ),
    kills="scope-action",
    because="a star for its action type[^§]*exit code 0",
)
broken(
    "BashForgetsNocasematch",
    "bash",
    "Sets nocasematch for hosts, and forgets that it holds for everything.",
    ("export LC_ALL=C\n", "export LC_ALL=C\nshopt -s nocasematch\n"),
    kills="scope-action",
    because="in capitals[^§]*exit code 0",
)

# ---- Node

broken(
    "NodeWritesCompactJson",
    "node",
    "Writes the scope as JSON.stringify does.",
    ('.written}`).join(", ")', '.written}`).join(",")'),
    ("${writtenText(name)}: $", "${writtenText(name)}:$"),
    kills="canonical-string",
    because="a good token[^§]*bad_signature",
)
broken(
    "NodeSortsByCodeUnits",
    "node",
    "Sorts keys as JavaScript does.",
    (".sort(byCodePoint)", ".sort()"),
    kills="cross-language",
    because="letters beyond the first plane[^§]*bad_signature",
)
broken(
    "NodeLivesInLocalTime",
    "node",
    "Takes an expiry in UTC for one of its own time zone.",
    (
        "return BigInt(date.getTime()) * 1000n",
        "return BigInt(date.getTime() + date.getTimezoneOffset() * 60000) * 1000n",
    ),
    kills="expiry",
    because="expired an hour ago, in America/New_York[^§]*exit code 0",
)
broken(
    "NodeNeedsNoNonce",
    "node",
    "Takes a token without a nonce, which no log can remember.",
    ('nonce: text(data, "nonce", UUID, "a UUID")', 'nonce: data.value.get("nonce")?.value ?? ""'),
    (
        'spend(token.nonce, options["nonce-log"]);',
        'if (token.nonce) spend(token.nonce, options["nonce-log"]);',
    ),
    kills="nonce-required",
    because="no nonce, an empty place for it signed[^§]*exit code 0",
)
broken(
    "NodeKeepsItsLogInMemory",
    "node",
    "Remembers nonces as long as it runs, which is for one token.",
    (
        "closeSync(openSync(join(folder, nonce.toLowerCase())",
        "if (!nonce) closeSync(openSync(folder",
    ),
    kills="nonce-restart",
    because="after a restart[^§]*exit code 0",
)
broken(
    "NodeReadsTheHostCarelessly",
    "node",
    "Takes what stands before an @ for the host.",
    (".split(/[/?#]/)[0];", '.split(/[/?#]/)[0].split("@")[0];'),
    kills="scope-host",
    because="as user information[^§]*exit code 0",
)
broken(
    "NodeLeavesTheContentToTheArbiter",
    "node",
    "Does not hash the content: it was looked at when it was approved.",
    ("if (!timingSafeEqual(hash,", "if (false && !timingSafeEqual(hash,"),
    kills="content-at-execution",
    because="with another content[^§]*exit code 0",
)
broken(
    "NodeReadsContentAsText",
    "node",
    "Reads the content as UTF-8, and puts a sign in the place of what is none.",
    (
        "const content = readBytes(options.content);",
        "const content = Buffer.from(readBytes(options.content).toString());",
    ),
    kills="content-at-execution",
    because="bytes that are no text[^§]*content_mismatch",
)
broken(
    "NodeRunsText",
    "node",
    "Hashes bytes, and gives the command the text that they are in UTF-8.",
    ("input: content,", "input: content.toString(),"),
    kills="content-at-execution",
    because=r"just these bytes are executed\nexecuted [^§]*xef.xbf.xbd",
)
broken(
    "NodeReadsHexUntilItEnds",
    "node",
    "Reads a signature as far as it is hexadecimal, and not what comes after.",
    (
        '/^[0-9a-f]{64}$/, "64 hexadecimal digits"),\n  };',
        '/^[0-9a-f]{64}/, "64 hexadecimal digits"),\n  };',
    ),
    kills="signature",
    because="one digit more than its signature[^§]*exit code 0",
)


broken(
    "BashGivesTheNonceBack",
    "bash",
    "Gives the nonce back when the execution ends with an error.",
    (
        '"${command[@]}" <"$work/content" >&2',
        '"${command[@]}" <"$work/content" >&2 || rm -f -- "$spent"',
    ),
    kills="nonce-replay",
    because="a token whose content was run, and ended with exit code 3[^§]*exit code 0",
)


broken(
    "NodeGivesTheNonceBack",
    "node",
    "Gives the nonce back when the execution ends with an error.",
    (
        "answer.exit_code = done.status ?? 127;",
        "answer.exit_code = done.status ?? 127;\n      if (answer.exit_code !== 0) "
        'rmSync(join(options["nonce-log"], token.nonce.toLowerCase()));',
    ),
    ("openSync, readFileSync }", "openSync, readFileSync, rmSync }"),
    kills="nonce-replay",
    because="a token whose content was run, and ended with exit code 3[^§]*exit code 0",
)


broken(
    "NodeCarriesDatesOver",
    "node",
    "Takes the thirtieth of February for the second of March, as Date does.",
    ("if (!same || year < 1", "if (year < 1"),
    kills="expiry",
    because="a date that there is not[^§]*exit code 0",
)


broken(
    "BashCutsALongSecret",
    "bash",
    "Takes the first 64 bytes of a secret for the key, where a longer one is to be hashed.",
    ("if ((${#secret} <= 64)); then", "if true; then"),
    kills="default-secret",
    because="than a block of SHA-256, and a token signed with it[^§]*accepted[^§]*bad_signature",
)


broken(
    "BashEndsWithoutAWord",
    "bash",
    "Ends when the secret is not a good one, and does not say why.",
    (
        """not_started() { printf '{"accepted": false, "error": "%s"}\\n' "$1"; exit 2; }""",
        "not_started() { exit 2; }",
    ),
    kills="default-secret",
    because="does not start, without a word",
    warned=True,
)

"""What is executed is what was approved, checked when it is executed."""

import hashlib
import os
import threading
import time
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.execution_tokens.changing_file import (
    ChangingFile,
    LeaseError,
)

OTHER_DIGITS = str.maketrans("0123456789abcdef", "123456789abcdef0")
LOOKS = 3
"""How often a verifier may look at a file before it is another one."""


@requirement("execution_tokens/content-at-execution")
def test_content_that_changed_after_the_approval_never_runs(executions):
    executions.honest()
    other = executions.other_content
    token = executions.token()
    executions.expect_refused(
        executions.execute(token, content=other), sent="a token with another content"
    )
    executions.still_serves(token, after="another content was refused")
    for_other = executions.token(content=other)
    executions.expect_refused(
        executions.execute(for_other), sent="a token that was made for another content"
    )


@requirement("execution_tokens/content-at-execution")
def test_every_byte_of_the_content_counts(executions):
    """A blank more, a line end less, a null byte: contents that do nothing new, if they ran."""
    executions.honest()
    content = executions.driver.content
    changed = {
        "nothing": b"",
        "a line end more": content + b"\n",
        "a blank more": b" " + content,
        "a blank at its end": content + b" ",
        "a tab at its end": content + b"\t",
        "a carriage return at its end": content + b"\r",
        "a byte order mark before it": b"\xef\xbb\xbf" + content,
        "a blank of no width after it": content + "\u200b".encode(),
        "many line ends more": content + b"\n" * 5000,
    }
    if b" " in content:
        changed["two blanks for one"] = content.replace(b" ", b"  ", 1)
        changed["a tab for a blank"] = content.replace(b" ", b"\t", 1)
    if content.endswith(b"\n"):
        changed["a carriage return"] = content[:-1] + b"\r\n"
        changed["a line end less"] = content[:-1]
    if executions.verifier.binary:
        changed |= {"a null byte more": content + b"\0", "bytes that are no UTF-8": b"\xff\xfe"}
    else:
        changed["a null byte more"] = content + b"\0"
    with executions.several() as several:
        for name, other in executions.some(changed, always=4).items():
            with several.one(name):
                executions.expect_refused(
                    executions.execute(executions.token(), content=other),
                    sent=f"a token with its content changed: {name}",
                )
        # Two blanks that are the same letter in a normal form of Unicode.
        one, other = (content + blank.encode() for blank in ("\u2002", "\u2000"))
        with several.one("a blank of Unicode"):
            executions.expect_refused(
                executions.execute(executions.token(content=one), content=other),
                sent="a token with its content changed: another form of a blank of Unicode",
            )


@requirement("execution_tokens/content-at-execution")
def test_no_spelling_of_the_hash_lets_another_content_pass(executions):
    """The document has 64 digits. Another spelling may be read or refused; it stays a hash of the
    approved content, and of no other."""
    executions.need_secret()
    executions.honest()
    names = executions.table.names
    plain = executions.token(content=executions.other_content)
    scope, key = plain[names["scope"]], names["content_hash"]
    right = scope[key]
    spelled = {
        "sha256: before its hash": f"sha256:{right}",
        "its hash in capitals": right.upper(),
        "another algorithm named before its hash": f"md5:{right}",
        "an empty hash": "",
        "a prefix and no hash": "sha256:",
        "the beginning of its hash": right[:8],
        "null for a hash": None,
        "false for a hash": False,
        "zero for a hash": 0,
        "an empty list for a hash": [],
        "a list with its hash": [right],
        "a star for a hash": "*",
        "zeros for a hash": "0" * 64,
        "its hash and a line end": f"{right}\n",
    }
    scopes: dict[str, Any] = {name: {**scope, key: value} for name, value in spelled.items()}
    scopes["no hash"] = {name: value for name, value in scope.items() if name != key}
    scopes |= {"an empty scope": {}, "null for a scope": None, "a list for a scope": []}
    executions.expect_all_refused(
        {
            name: executions.with_scope(scope)
            for name, scope in executions.some(scopes, always=7).items()
        },
        sent="a token for another content",
    )


@requirement("execution_tokens/content-at-execution")
def test_every_part_of_the_hash_is_compared(executions):
    """The hash of what is to run, but for a digit, a quarter or a half; signed as it should be."""
    executions.need_secret()
    executions.honest()
    right = hashlib.sha256(executions.driver.content).hexdigest()
    parts = {
        f"digit {place + 1} changed": (place, place + 1) for place in (0, 7, 15, 31, 32, 47, 62, 63)
    }
    parts |= {f"quarter {n + 1} changed": (16 * n, 16 * n + 16) for n in range(4)}
    parts |= {"its first half changed": (0, 32), "its second half changed": (32, 64)}
    key = executions.table.names["content_hash"]
    wrong = {
        name: right[:first] + right[first:last].translate(OTHER_DIGITS) + right[last:]
        for name, (first, last) in parts.items()
    }
    wrong |= {
        "a half of it taken off": right[:32],
        "a digit more": f"{right}0",
        "its digits turned round": right[::-1],
    }
    cases = {name: executions.token(scope={key: value}) for name, value in wrong.items()}
    executions.expect_all_refused(
        executions.some(cases), sent="a token for almost the hash of its content,"
    )


@requirement("execution_tokens/content-at-execution")
def test_every_part_of_a_long_content_counts(executions):
    """Line ends after what is safe to run, and one of them a blank: what is hashed in part, or cut,
    is seen. A verifier may have a limit of its own."""
    executions.honest()
    content = executions.driver.content
    with executions.several() as several:
        for length in (1500, 5000, 70_000) if executions.verifier.quick else (70_000,):
            long = content + b"\n" * length
            for some in filter(len(long).__gt__, (1024, 4096, 65_536)):
                with several.one(f"the first {some} of {len(long)}"):
                    executions.expect_refused(
                        executions.execute(executions.token(content=long[:some]), content=long),
                        sent=f"a token for {some} bytes, with {len(long)} that begin with them",
                    )
            if executions.runs_anything:
                answer = executions.execute(executions.token(content=long), content=long)
                if not answer.accepted:
                    break
            for name, place in {
                "the last byte": len(long) - 1,
                "a byte in the middle": len(long) // 2,
                "a byte after a kilobyte": 1030,
            }.items():
                other = long[:place] + b" " + long[place + 1 :]
                with several.one(f"{name} of {len(long)}"):
                    executions.expect_refused(
                        executions.execute(executions.token(content=long), content=other),
                        sent=f"a token for {len(long)} bytes, with {name} changed",
                    )
            with several.one(f"{len(long)}, cut"):
                executions.expect_refused(
                    executions.execute(executions.token(content=long)),
                    sent=f"a token for {len(long)} bytes, with the first {len(content)} of them",
                )


@requirement("execution_tokens/content-at-execution")
def test_any_bytes_can_be_approved(executions):
    if not executions.verifier.binary:
        raise NotApplicable("content is text here")
    content = b"\x00\xff bytes \r\n\n"
    answer = executions.execute(executions.token(content=content), content=content)
    executions.expect_accepted(answer, sent="a token for bytes that are no text")
    executions.expect(
        not answer.ran or answer.ran == (content,),
        sent="a token for bytes that are no text",
        expected="just these bytes are executed",
        got=f"executed {answer.ran!r}",
    )


# ---- between verification and execution: commands read a file, and a file can change


def _expect_only_approved(executions, answer, how):
    approved = executions.driver.content
    executions.expect(
        all(one == approved for one in answer.ran or ()),
        sent=f"a token, its content {how}",
        expected="refused, or the approved bytes executed",
        got=f"executed {(answer.ran or (b'',))[0]!r}",
    )


@requirement("execution_tokens/content-at-execution")
def test_a_second_look_at_the_content_is_not_executed(executions):
    """A pipe instead of the file: a second read gets other bytes."""
    verifier = executions.command
    executions.honest()
    pipe = verifier.folder / "pipe"
    os.mkfifo(pipe)
    contents = [executions.driver.content] + [executions.other_content] * 3

    def feed(done: threading.Event) -> None:
        for content in contents:
            writer = _open_for_a_reader(pipe, done)
            if writer is None:
                return
            os.set_blocking(writer, True)
            os.write(writer, content)
            os.close(writer)
            # The next reader gets the next content, this one an end.
            while not done.is_set() and _has_reader(pipe):
                time.sleep(0.0005)

    answer = verifier.ask_about(executions.driver.request(executions.token()), pipe, feed)
    _expect_only_approved(executions, answer, "another one for who reads it twice")


def _open_for_a_reader(pipe, done):
    while not done.is_set():
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.0005)
    return None


def _has_reader(pipe):
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


@requirement("execution_tokens/content-at-execution")
@pytest.mark.parametrize("how", ["a file that is replaced", "a link that is turned"])
def test_content_that_changes_between_two_looks_runs_as_approved_or_not(executions, how):
    """The first looks see the approved file, and all later ones another: whoever hashes one and
    runs the other is seen, however often they looked before."""
    verifier = executions.command
    executions.honest()
    approved, other = executions.driver.content, executions.other_content
    for good in range(1, LOOKS + 1):
        file = ChangingFile(
            verifier.folder / f"changes-{good}", approved, other, good=good, linked="link" in how
        )
        request = executions.driver.request(executions.token())
        try:
            with file.held() as path:
                answer = verifier.ask_about(request, path, file.change)
        except LeaseError as error:
            raise NotVerified(str(error), minor=True) from error
        _expect_only_approved(executions, answer, f"in {how} after {good} look(s)")

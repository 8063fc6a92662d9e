"""What is executed is what was approved, checked when it is executed."""

import os
import threading
import time

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, requirement

TRIES = 4


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
    changed = {"nothing": b"", "a line end more": content + b"\n", "a blank more": b" " + content}
    if executions.verifier.binary:
        changed |= {"a null byte more": content + b"\0", "bytes that are no UTF-8": b"\xff\xfe"}
        if content.endswith(b"\n"):
            changed["a carriage return"] = content[:-1] + b"\r\n"
    with executions.several() as several:
        for name, other in changed.items():
            with several.one(name):
                executions.expect_refused(
                    executions.execute(executions.token(), content=other),
                    sent=f"a token with its content changed: {name}",
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
    }
    executions.expect_all_refused(
        {
            name: executions.driver.signed({**plain, names["scope"]: {**scope, key: value}})
            for name, value in spelled.items()
        },
        sent="a token for another content",
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
def test_content_that_changes_all_the_time_runs_as_approved_or_not(executions, how):
    """Between two files, thousands of times a second: what runs is the approved one, or nothing."""
    verifier = executions.command
    executions.honest()
    files = [verifier.folder / "approved", verifier.folder / "other"]
    files[0].write_bytes(executions.driver.content)
    files[1].write_bytes(executions.other_content)
    content, fresh = verifier.folder / "content", verifier.folder / "fresh"

    def put(file):
        fresh.unlink(missing_ok=True)
        (os.symlink if "link" in how else os.link)(file, fresh)
        fresh.replace(content)

    def turn(done: threading.Event) -> None:
        number = 0
        while not done.is_set():
            number += 1
            put(files[number % 2])
            time.sleep(0.0002)

    put(files[0])
    for _ in range(TRIES):
        answer = verifier.ask_about(executions.driver.request(executions.token()), content, turn)
        _expect_only_approved(executions, answer, f"in {how}")

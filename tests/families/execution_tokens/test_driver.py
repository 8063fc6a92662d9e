"""The suite's own tokens, and the driver over the reference server's tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.families.execution_tokens.corpus import NAMED, generated
from pytest_mcp_approval.families.execution_tokens.driver import ExecutionTokens
from pytest_mcp_approval.families.execution_tokens.token_making import (
    FAULTY_SIGNING,
    Names,
    canonical,
    sign,
)
from pytest_mcp_approval.target import open_target


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[ExecutionTokens]:
    target = open_target("reference", Settings(targets=("reference",), directory=tmp_path))
    yield ExecutionTokens(target)
    target.close()


def test_the_published_vector():
    assert sign(words.VECTOR_SECRET, canonical(words.VECTOR_TOKEN, Names())) == (
        words.VECTOR_SIGNATURE
    )


def test_faulty_strings_differ_from_the_right_one_and_from_each_other():
    scope = {"z": "ü", **words.VECTOR_TOKEN["scope"]}
    token = {**words.VECTOR_TOKEN, "scope": scope}
    found = {name: signing(token, Names()) for name, signing in FAULTY_SIGNING.items()}
    assert len({canonical(token, Names()), *found.values()}) == len(found) + 1


def test_compact_json_gives_what_the_readings_say():
    compact = FAULTY_SIGNING["compact JSON"](words.VECTOR_TOKEN, Names())
    assert sign(words.VECTOR_SECRET, compact).startswith("9923369d")


def test_the_corpus_is_the_same_each_time():
    assert generated(40) == generated(40)
    for scope in [*NAMED.values(), *generated(40).values()]:
        assert json.loads(json.dumps(scope)) == scope


def test_a_token_serves_once_and_is_seen_to(driver):
    token = driver.token()
    first, second = driver.execute(token), driver.execute(token)
    assert (first.accepted, first.ran) == (True, (None,))
    assert (second.refused, second.reason, second.ran) == (True, "nonce_spent", ())


def test_without_the_secret_tokens_are_the_arbiters(driver):
    driver.secret = None
    assert driver.execute(driver.token()).accepted
    with pytest.raises(DriverError, match="needs the secret"):
        driver.token(nonce=None)
    with pytest.raises(DriverError, match="needs the secret"):
        driver.signed({})


def test_runs_of_many_questions_are_counted_together(driver):
    requests = [driver.request(driver.token()) for _ in range(3)]
    requests.append(driver.request(driver.token(), action="another"))
    answers = driver.verifier.ask_each(requests)
    assert [one.accepted for one in answers] == [True, True, True, False]
    assert [len(one.ran) for one in answers] == [1, 1, 1, 0]


def test_of_many_at_once_one_is_accepted(driver):
    answers = driver.verifier.ask_together(driver.request(driver.token()), 6)
    assert sum(one.accepted for one in answers) == 1
    assert answers[0].ran == (None,)


def test_a_token_can_pass_as_an_object(tmp_path):
    settings = Settings(
        targets=("reference",),
        directory=tmp_path,
        family_settings={"execution_tokens": {"token-as": "object"}},
    )
    target = open_target("reference", settings)
    try:
        driver = ExecutionTokens(target)
        assert driver.execute(driver.token(scope={"z": {"b": "ü", "a": []}})).accepted
    finally:
        target.close()


def test_a_server_that_takes_no_contents_runs_nothing(tmp_path):
    settings = Settings(
        targets=("reference",),
        directory=tmp_path,
        family_settings={"execution_tokens": {"contents": []}},
    )
    target = open_target("reference", settings)
    try:
        with pytest.raises(DriverError, match="contents"):
            ExecutionTokens(target).token()
    finally:
        target.close()

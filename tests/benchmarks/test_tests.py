"""The page that says where the time of the tests goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import tests
from benchmarks.processor_time import PROPERTY

FOUND = {
    ("tests/wire/test_sse", "test_a"): 1.0,
    ("tests/wire/test_http", "test_b[1]"): 2.0,
    ("tests/mutants/test_kill_matrix", "test_c"): 57.0,
    ("tests/mutants/test_kill_matrix", "test_d"): 40.0,
}


def report(folder: Path, count: int, **seconds: float) -> Path:
    cases = "".join(
        f'<testcase classname="tests.wire.test_sse" name="{name}"><properties>'
        f'<property name="{PROPERTY}" value="{value}"/></properties></testcase>'
        for name, value in seconds.items()
    )
    path = folder / "report.xml"
    path.write_text(f'<testsuites><testsuite tests="{count}">{cases}</testsuite></testsuites>')
    return path


def test_a_file_that_takes_much_is_a_part_of_its_own():
    assert tests.parts(FOUND) == {
        "tests/mutants/test_kill_matrix.py": (2, 97.0),
        "tests/wire/": (2, 3.0),
    }
    assert "| tests/wire/ | 2 | 0.05 | 3.0% |" in tests.render(FOUND)


def test_a_report_is_read_by_file_and_test(tmp_path: Path):
    found = tests.read(report(tmp_path, 2, test_a=0.5, test_b=0.0))
    assert found == {("tests/wire/test_sse", "test_a"): 0.5, ("tests/wire/test_sse", "test_b"): 0}


@pytest.mark.parametrize(
    ("count", "seconds", "problem"),
    [
        (3, {"test_a": 0.5}, "tests with their processor seconds: got 1, expected the 3"),
        (0, {}, "tests with their processor seconds: got 0"),
        (1, {"test_a": -0.5}, "processor seconds of tests/wire/test_sse::test_a: got -0.5"),
    ],
)
def test_a_report_that_cannot_be_true_is_not_read(
    tmp_path: Path, count: int, seconds: dict[str, float], problem: str
):
    with pytest.raises(SystemExit, match=problem):
        tests.read(report(tmp_path, count, **seconds))


def test_a_run_tells_the_processor_seconds_of_each_test(pytester: pytest.Pytester):
    pytester.makepyfile(
        "def test_busy(): assert sum(range(3_000_000))\ndef test_idle(): pass\n"
        "class TestIn:\n    def test_a_class(self): pass\n"
    )
    options = ("-p", "benchmarks.processor_time", "--junitxml=report.xml", "-p", "no:xdist")
    pytester.inline_run(*options)
    found = {name: seconds for (_, name), seconds in tests.read(Path("report.xml")).items()}
    assert set(found) == {"test_busy", "test_idle", "test_a_class"}
    assert found["test_busy"] > found["test_idle"] >= 0

"""What the machine breaks, and that it breaks nothing else."""

from __future__ import annotations

import ast

import pytest

from tests.mutation.operators import mutated, mutations

SOURCE = '''
LIMIT = 5

class Gate:
    """Not this: x < 3."""

    def check(self, age: int = 7) -> bool:
        """Nor this."""
        if age < LIMIT and not self.spent:
            raise ValueError("late")
        self.note(age)
        self.count += 1
        return self.inner(age)
'''


def told() -> dict[str, int]:
    return {one.what: one.number for one in mutations(SOURCE)}


def changed(what: str) -> str:
    return ast.unparse(mutated(SOURCE, told()[what]))


@pytest.mark.parametrize(
    ("what", "before", "after"),
    [
        ("`age < LIMIT` becomes LtE", "age < LIMIT", "age <= LIMIT"),
        ("`age < LIMIT` becomes GtE", "age < LIMIT", "age >= LIMIT"),
        (
            "`age < LIMIT and (not self.spent)` becomes or",
            "LIMIT and (not self.spent)",
            "LIMIT or not self.spent",
        ),
        (
            "`age < LIMIT and (not self.spent)` loses `age < LIMIT`",
            "if age < LIMIT and (not self.spent)",
            "if not self.spent",
        ),
        ("`not self.spent` loses its not", "(not self.spent)", "self.spent"),
        ("`raise ValueError('late')` is dropped", "raise ValueError('late')", "pass"),
        ("`self.note(age)` is dropped", "self.note(age)", "pass"),
        ("`self.count += 1` is dropped", "self.count += 1", "pass"),
        ("1 becomes 2", "count += 1", "count += 2"),
        ("1 becomes 0", "count += 1", "count += 0"),
        ("`return self.inner(age)` returns None", "return self.inner(age)", "return None"),
        (
            "`if age < LIMIT and (not self.spent)` is never true",
            "age < LIMIT and (not self.spent)",
            "False",
        ),
    ],
)
def test_one_thing_is_changed(what: str, before: str, after: str):
    whole = ast.unparse(ast.parse(SOURCE))
    assert changed(what) == whole.replace(before, after, 1) != whole


def test_nothing_but_statements_of_functions_is_changed():
    found = mutations(SOURCE)
    assert {one.function for one in found} == {"Gate.check"}
    assert not [one for one in found if one.what.startswith(("5 ", "7 ", "3 "))]
    assert all(9 <= one.line <= one.last_line <= 13 for one in found)
    assert len({one.number for one in found}) == len(found)


def test_two_alike_in_one_line_have_names_of_their_own():
    names = [one.what for one in mutations("def f(x):\n    return g(1, 1)\n")]
    assert len(set(names)) == len(names)
    assert "1 becomes 2 (2)" in names

"""What a machine can break in a line: comparisons, boundaries, constants, dropped statements,
swapped branches.

Knows no module and no scenario. A mutation is known by its place in the order in which they are
found, so it can be made again from the same source.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
DROPPED = (ast.Expr, ast.Raise, ast.AugAssign, ast.Delete)
Change = Callable[[Any], ast.AST]
"""Takes the copy of a node, and gives what stands in its place."""


@dataclass(frozen=True)
class Mutation:
    """One change of a source."""

    function: str
    """Its qualified name, as a code object has it."""
    line: int
    last_line: int
    what: str
    number: int
    """Its place among the mutations of this source."""


def mutations(source: str) -> list[Mutation]:
    """All of them, in the order of the source. Only what is in a function: nothing else runs while
    a server is checked. The second of two alike in one line says so."""
    found: list[Mutation] = []
    alike: Counter[tuple[int, str]] = Counter()
    for number, (function, node, what, _) in enumerate(_places(ast.parse(source))):
        alike[node.lineno, what] += 1
        times = alike[node.lineno, what]
        told = what if times == 1 else f"{what} ({times})"
        found.append(Mutation(function, node.lineno, _last_line(node), told, number))
    return found


def mutated(source: str, number: int) -> ast.Module:
    """The source with one mutation."""
    tree = ast.parse(source)
    place = next(one for at, one in enumerate(_places(tree)) if at == number)
    _, node, _, change = place
    put = ast.copy_location(change(copy.deepcopy(node)), node)
    done = _Put(node, put).visit(tree)
    return ast.fix_missing_locations(done)


class _Put(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else super().visit(node)


def _places(tree: ast.Module) -> Iterator[tuple[str, Any, str, Change]]:
    for function, top in _functions(tree.body, ""):
        for node in _statements(top):
            for what, change in _changes(node):
                yield function, node, what, change


def _functions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions of the module and of its classes; those inside a function belong to it."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{node.name}", node  # type: ignore[misc]


def _statements(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What runs in it. Not its name, arguments and notes for types, nor its docstring."""
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = body[1:]
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.AnnAssign):
            children = [node.value] if node.value is not None else []
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            children = list(node.body)
        waiting += reversed(children)


def _last_line(node: Any) -> int:
    """Of what is changed: of an `if`, its condition."""
    part: Any = node.test if isinstance(node, ast.If) else node
    last: int = part.end_lineno
    return last


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    if isinstance(node, ast.Compare):
        yield from _comparisons(node)
    elif isinstance(node, ast.BoolOp):
        yield from _conditions(node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"`{_short(node)}` loses its not", lambda old: old.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in COUNTED:
        if not _is_text(node.left) and not _is_text(node.right):
            other = COUNTED[type(node.op)]
            yield f"the operator of `{_short(node)}` becomes {other.__name__}", _operator(other)
    elif isinstance(node, ast.Constant):
        yield from _constants(node)
    elif isinstance(node, ast.If | ast.IfExp):
        yield f"`if {_short(node.test)}` is always true", _condition(True)
        yield f"`if {_short(node.test)}` is never true", _condition(False)
    elif isinstance(node, DROPPED):
        if not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call | ast.Await):
            yield f"`{_short(node)}` is dropped", lambda _: ast.Pass()
    elif isinstance(node, ast.Return) and not isinstance(node.value, ast.Constant | None):
        yield f"`{_short(node)}` returns None", lambda _: ast.Return(ast.Constant(None))


def _comparisons(node: ast.Compare) -> Iterator[tuple[str, Change]]:
    for at, operator in enumerate(node.ops):
        for other in COMPARED[type(operator)]:

            def change(old: ast.Compare, at: int = at, other: type[ast.cmpop] = other) -> ast.AST:
                old.ops[at] = other()
                return old

            yield f"`{_short(node)}` becomes {other.__name__}", change


def _conditions(node: ast.BoolOp) -> Iterator[tuple[str, Change]]:
    other = ast.Or if isinstance(node.op, ast.And) else ast.And
    yield f"`{_short(node)}` becomes {other.__name__.lower()}", _operator(other)
    for at, value in enumerate(node.values):

        def without(old: ast.BoolOp, at: int = at) -> ast.AST:
            del old.values[at]
            return old if len(old.values) > 1 else old.values[0]

        yield f"`{_short(node)}` loses `{_short(value)}`", without


def _constants(node: ast.Constant) -> Iterator[tuple[str, Change]]:
    value = node.value
    if isinstance(value, bool):
        yield f"{value} becomes {not value}", lambda _: ast.Constant(not value)
    elif isinstance(value, int | float):
        yield f"{value} becomes {value + 1}", lambda _: ast.Constant(value + 1)
        if value:
            yield f"{value} becomes {value - 1}", lambda _: ast.Constant(value - 1)


def _operator(other: Any) -> Change:
    def change(old: Any) -> Any:
        old.op = other()
        return old

    return change


def _condition(value: bool) -> Change:
    def change(old: Any) -> Any:
        old.test = ast.Constant(value)
        return old

    return change


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _short(node: ast.AST, most: int = 70) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= most else f"{text[: most - 3]}..."

"""Put a mutation into the modules of this process, and take it out again.

Loading modules anew would take longer than a check. So functions get the code of the broken source
in place of their own. Of a module that the suite uses too, the server gets a broken copy.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.mutation.modules import is_shared, source_of
from tests.mutation.operators import mutated

SERVER_MODULES = "pytest_mcp_approval.reference_server."


@contextlib.contextmanager
def broken(module: str, number: int, function: str) -> Iterator[None]:
    """While this lasts, the module has the mutation."""
    tree = mutated(source_of(module).read_text(encoding="utf-8"), number)
    change = _copied if is_shared(module) else _recoded
    with change(importlib.import_module(module), tree, function):
        yield


@contextlib.contextmanager
def _recoded(module: ModuleType, tree: ast.Module, function: str) -> Iterator[None]:
    """The functions of this name have the code of the tree."""
    path = str(module.__file__)
    code = _code_of(compile(tree, path, "exec"), function)
    changed = [
        (one, one.__code__)
        for one in _functions_of(module, function)
        if one.__code__.co_firstlineno == code.co_firstlineno
    ]
    if any(own.co_freevars != code.co_freevars for _, own in changed):
        code = _code_of(compile(_naming_its_class(tree, function), path, "exec"), function)
    assert changed, f"{module.__name__}: no function {function} is loaded"
    try:
        for one, _ in changed:
            one.__code__ = code
        yield
    finally:
        for one, own in changed:
            one.__code__ = own


@contextlib.contextmanager
def _copied(module: ModuleType, tree: ast.Module, function: str) -> Iterator[None]:
    """The server's modules have the functions of a copy of `module`, in which one is broken. Values
    and classes are the same in both."""
    code = _code_of(compile(tree, str(module.__file__), "exec"), function)
    copy = ModuleType(module.__name__)
    copy.__dict__.update(vars(module))
    own = {
        id(one): name
        for name, one in vars(module).items()
        if isinstance(one, FunctionType) and one.__module__ == module.__name__
    }
    for name in own.values():
        one = getattr(module, name)
        now = code if one.__code__.co_qualname == function else one.__code__
        made = FunctionType(now, vars(copy), name, one.__defaults__, one.__closure__)
        made.__kwdefaults__ = one.__kwdefaults__
        setattr(copy, name, made)
    changed: list[tuple[dict[str, Any], str, Any]] = []
    for name, user in list(sys.modules.items()):
        if not name.startswith(SERVER_MODULES):
            continue
        for attribute, value in list(vars(user).items()):
            if value is module or id(value) in own:
                changed.append((vars(user), attribute, value))
                put = copy if value is module else getattr(copy, own[id(value)])
                vars(user)[attribute] = put
    try:
        yield
    finally:
        for names, attribute, value in changed:
            names[attribute] = value


def _naming_its_class(tree: ast.Module, function: str) -> ast.Module:
    """A method whose `super()` was dropped needs its class no more; a function object insists."""
    body: list[ast.stmt] = tree.body
    for name in function.split("."):
        found = next(one for one in body if getattr(one, "name", "") == name)
        body = found.body  # type: ignore[attr-defined]
    body.append(ast.Expr(ast.Name("__class__", ast.Load())))
    return ast.fix_missing_locations(tree)


def _functions_of(module: ModuleType, qualified: str) -> Iterator[FunctionType]:
    """The function of this name, behind whatever decorates it."""
    found: Any = module
    for name in qualified.split("."):
        found = vars(found)[name]
    waiting = [found]
    while waiting:
        one = waiting.pop()
        if isinstance(one, FunctionType) and not hasattr(one, "__wrapped__"):
            yield one
        for place in ("fget", "fset", "fdel", "func", "__func__", "__wrapped__"):
            waiting += [inner] if callable(inner := getattr(one, place, None)) else []


def _code_of(code: CodeType, function: str) -> CodeType:
    return next(one for one in _codes(code) if one.co_qualname == function)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)

"""Read a dumped config without running it."""

from __future__ import annotations

import ast
from typing import Any


def parse_literals(text: str) -> dict[str, Any]:
    """Return the variables that a text of plain assignments defines.

    A config as MMEngine prints it is made of literals and ``dict(...)``;
    anything else raises, and nothing is executed.

    Example:
        >>> parse_literals("a = dict(b=[1, -2.5], c=(None, 'd'))")
        {'a': {'b': [1, -2.5], 'c': (None, 'd')}}
    """
    try:
        return _variables(ast.parse(text))
    except (MemoryError, RecursionError):
        raise ValueError('the config is nested too deeply') from None


def _variables(module: ast.Module) -> dict[str, Any]:
    values = {}
    for statement in module.body:
        if not isinstance(statement, ast.Assign) or not all(
            isinstance(target, ast.Name) for target in statement.targets
        ):
            raise ValueError(
                f'line {statement.lineno} of the config is no plain assignment'
            )
        for target in statement.targets:
            values[target.id] = _checked(statement.value)  # type: ignore
    return values


def _checked(node: ast.expr) -> Any:
    try:
        return _value(node)
    except TypeError as error:
        # Such as -'a', or a list as a key.
        raise ValueError(
            f'line {node.lineno} of the config: {error}'
        ) from None


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Call):
        return _call(node)
    if isinstance(node, (ast.List, ast.Tuple)):
        kind = list if isinstance(node, ast.List) else tuple
        return kind(_value(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        return {
            # A key is missing in {**a}.
            _key(ast.literal_eval(key or node)): _value(value)
            for key, value in zip(node.keys, node.values)
        }
    if isinstance(node, ast.Name) and node.id in ('inf', 'nan'):
        return float(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    return ast.literal_eval(node)


def _key(key: Any) -> Any:
    """Check a key, because MMEngine prints it between bare quotes.

    In a config that is written again it would end them, and go on as code.
    """
    plain = isinstance(key, (int, float)) or (
        isinstance(key, str)
        and key.isprintable()
        and not set(key) & set("'\\")
    )
    if not plain:
        raise ValueError(f'the key {key!r} is no plain text')
    return key


def _call(node: ast.Call) -> Any:
    """Return ``dict(a=1)``, ``dict({'a': 1})`` or ``float('inf')``."""
    name = getattr(node.func, 'id', None)
    named = {keyword.arg: _value(keyword.value) for keyword in node.keywords}
    is_plain = all(keyword.arg for keyword in node.keywords)
    if name == 'dict' and is_plain and not node.args:
        return named
    if name == 'dict' and not named and isinstance(node.args[0], ast.Dict):
        return _value(node.args[0])
    if name == 'float' and not named and len(node.args) == 1:
        return float(ast.literal_eval(node.args[0]))
    raise ValueError(f'line {node.lineno} of the config calls a function')

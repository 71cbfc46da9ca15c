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
    values = {}
    for statement in ast.parse(text).body:
        if not isinstance(statement, ast.Assign) or not all(
            isinstance(target, ast.Name) for target in statement.targets
        ):
            raise ValueError(
                f'line {statement.lineno} of the config is no plain assignment'
            )
        for target in statement.targets:
            values[target.id] = _value(statement.value)  # type: ignore
    return values


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Call):
        name = getattr(node.func, 'id', None)
        if name == 'dict' and not node.args:
            return {
                str(keyword.arg): _value(keyword.value)
                for keyword in node.keywords
            }
        if name == 'float' and len(node.args) == 1:
            return float(ast.literal_eval(node.args[0]))
        raise ValueError(f'line {node.lineno} of the config calls a function')
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        kind = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
        return kind(_value(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        return {
            ast.literal_eval(key): _value(value)
            for key, value in zip(node.keys, node.values)
            if key is not None
        }
    return ast.literal_eval(node)

"""Find misspelled keys of configs."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from mmengine.registry import Registry

# Likeness of two names, from 0 to 1, above which one is taken for the other
# misspelled. No variable of MMSeg's configs is so much like a key.
ALMOST = 0.8


def check_keys(found: Any, known: Collection[str], where: str) -> None:
    """Raise for a key that nothing reads.

    Args:
        found: A part of a config, or its keys.
        known: The keys that are read.
        where: Their place in the config, such as ``schedule.later``.
    """
    if not isinstance(found, (dict, list)):
        raise ValueError(
            f'{where} is {found!r}, expected a dict with some of '
            f'{", ".join(sorted(known))}'
        )
    for key in found:
        if key not in known:
            raise ValueError(
                f'{where}.{key} is unknown{nearest(key, known)}; {where} '
                f'takes {", ".join(sorted(known))}'
            )


def is_misspelled(name: str, known: Collection[str]) -> bool:
    """Whether a name is none of the known ones, but almost one."""
    close = get_close_matches(name, list(known), n=1, cutoff=ALMOST)
    return bool(close) and name not in known


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the known name that is most like another one."""
    close = get_close_matches(str(name), list(known), n=1)
    return f': did you mean {close[0]!r}?' if close else ''


def find_class(name: Any, registry: Registry, where: str) -> type:
    """Return the class that a config names."""
    found = registry.get(name) if isinstance(name, str) else name
    if not isinstance(found, type):
        known = [key for r in _family(registry) for key in r.module_dict]
        raise ValueError(
            f'{where}={name!r} is not registered{nearest(str(name), known)}; '
            'a class of your own needs its module in custom_imports'
        )
    return found


def check_arguments(
    config: Any,
    registry: Registry,
    where: str,
    more: Collection[str] = (),
    default: str | None = None,
) -> type:
    """Raise unless a config names a class and only arguments that it takes.

    Args:
        config: A dict with ``type``.
        registry: Where the class is registered.
        where: Its place in the config, such as ``method.criterion``.
        more: Keys that are read before the class is built.
        default: The type of a config without one.

    Returns:
        The class.
    """
    if not isinstance(config, dict) or not (default or 'type' in config):
        raise ValueError(
            f'{where} is {config!r}, expected a dict with a type, such as '
            f'dict(type="{default or _example(registry)}")'
        )
    cls = find_class(config.get('type', default), registry, f'{where}.type')
    names, is_open = _parameters(cls)
    known = names | set(more)
    given = [key for key in config if key not in ('type', '_scope_')]
    if is_open:
        # Any name goes, but not one that is almost the name of another.
        given = [key for key in given if is_misspelled(key, known)]
    check_keys(given, known, where)
    check_defaults(config, cls, where)
    return cls


def check_defaults(config: Mapping[str, Any], cls: type, where: str) -> None:
    """Raise for text where a class has a number or a switch by default.

    Args:
        config: Arguments of the class.
        cls: The class.
        where: The place of the config.
    """
    usual = defaults(cls)
    for key, value in config.items():
        is_switch = isinstance(usual.get(key), bool)
        is_number = isinstance(usual.get(key), (int, float))
        odd = (str, float, list, tuple, dict) if is_switch else str
        if is_number and isinstance(value, odd):
            what = 'True or False' if is_switch else 'a number'
            raise ValueError(f'{where}.{key} is {value!r}, expected {what}')


def arguments(cls: type) -> set[str] | None:
    """Return the names that the constructor of a class takes, None if any."""
    names, is_open = _parameters(cls)
    return None if is_open else names


def defaults(cls: type) -> dict[str, Any]:
    """Return the default values that the constructor of a class has."""
    found: dict[str, Any] = {}
    for parameters in _constructors(cls):
        for parameter in parameters:
            if parameter.default is not parameter.empty:
                found.setdefault(parameter.name, parameter.default)
    return found


def _parameters(cls: type) -> tuple[set[str], bool]:
    """Return the names that a constructor takes, and whether any other too."""
    names: set[str] = set()
    is_open = True
    for parameters in _constructors(cls):
        names.update(
            p.name
            for p in parameters
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        )
        is_open = any(p.kind is p.VAR_KEYWORD for p in parameters)
    return names - {'self'}, is_open


def _constructors(cls: type) -> Iterable[list[inspect.Parameter]]:
    """Yield the parameters of a constructor.

    ``**kwargs`` are followed to the next class that takes them.
    """
    for base in cls.__mro__:
        if '__init__' not in vars(base):
            continue
        signature = inspect.signature(vars(base)['__init__'])
        parameters = list(signature.parameters.values())
        yield parameters
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            return


def _example(registry: Registry) -> str:
    """Return a name that is registered, of ours if there is one."""
    names = [
        name
        for name, item in registry.module_dict.items()
        if item.__module__.startswith('mmseg_rbc')
    ]
    return (names or [*registry.module_dict, '...'])[0]


def _family(registry: Registry) -> Iterable[Registry]:
    """Yield a registry and those that it falls back to."""
    node: Registry | None = registry
    while node is not None:
        yield node
        node = node.parent

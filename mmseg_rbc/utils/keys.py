"""Find misspelled keys of configs."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Any

from mmengine.registry import Registry


def check_keys(
    found: Iterable[str], known: Collection[str], where: str
) -> None:
    """Raise for a key that nothing reads.

    Args:
        found: Keys of a config.
        known: The keys that are read.
        where: Their place in the config, such as ``schedule.later``.
    """
    for key in found:
        if key not in known:
            raise ValueError(
                f'{where}.{key} is unknown{nearest(key, known)}; {where} '
                f'takes {", ".join(sorted(known))}'
            )


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


def check_arguments(config: Any, registry: Registry, where: str) -> None:
    """Raise unless a config names a class and only arguments that it takes.

    Args:
        config: A dict with ``type``.
        registry: Where the class is registered.
        where: Its place in the config, such as ``method.criterion``.
    """
    if not isinstance(config, dict) or 'type' not in config:
        raise ValueError(
            f'{where} is {config!r}, expected a dict with a type, such as '
            'dict(type="PixelCrossEntropy")'
        )
    cls = find_class(config['type'], registry, f'{where}.type')
    known = arguments(cls)
    if known is not None:
        given = [key for key in config if key not in ('type', '_scope_')]
        check_keys(given, known, where)


def arguments(cls: type) -> set[str] | None:
    """Return the names that the constructor of a class takes.

    ``**kwargs`` are followed to the next class that takes them; None if the
    last one takes any name.
    """
    names: set[str] = set()
    for base in cls.__mro__:
        if '__init__' not in vars(base):
            continue
        signature = inspect.signature(vars(base)['__init__'])
        parameters = signature.parameters.values()
        kinds = {parameter.kind for parameter in parameters}
        names.update(
            p.name
            for p in parameters
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        )
        if inspect.Parameter.VAR_KEYWORD not in kinds:
            return names - {'self'}
    return None


def _family(registry: Registry) -> Iterable[Registry]:
    """Yield a registry and those that it falls back to."""
    node: Registry | None = registry
    while node is not None:
        yield node
        node = node.parent

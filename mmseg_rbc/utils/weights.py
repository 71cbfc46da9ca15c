"""The network of a Runner, and whether weights are those of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmengine.model import is_model_wrapper
from mmengine.runner import Runner
from torch import Tensor


def network_of(runner: Runner) -> Any:
    """Return the segmentor of a Runner, without a wrapper such as DDP."""
    model = runner.model
    return model.module if is_model_wrapper(model) else model


def check_weights(
    found: Mapping[str, Tensor], expected: Mapping[str, Tensor], path: str
) -> None:
    """Raise unless a checkpoint has exactly the weights of a network.

    MMEngine would load what fits and leave the rest random.

    Args:
        found: ``state_dict`` of the checkpoint.
        expected: That of the network.
        path: The checkpoint, for the message.
    """
    found, expected = _unwrapped(found), _unwrapped(expected)
    both = [key for key in expected if key in found]
    other = [
        f'{key} is {_shape(found[key])} instead of {_shape(expected[key])}'
        for key in both
        if found[key].shape != expected[key].shape
    ]
    parts = [
        _some('are missing', [key for key in expected if key not in found]),
        _some('are unknown', [key for key in found if key not in expected]),
        _some('have another shape', other),
    ]
    if any(parts):
        raise ValueError(
            f'{path} is of another network than that of the config, which has '
            f'{len(expected)} weights: {"; ".join(filter(None, parts))}. Use '
            'the config that it was trained with'
        )


def _unwrapped(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {key.removeprefix('module.'): w for key, w in state.items()}


def _some(what: str, names: Sequence[str]) -> str:
    if not names:
        return ''
    more = ', ...' if len(names) > 3 else ''
    return f'{len(names)} {what} ({", ".join(names[:3])}{more})'


def _shape(weight: Tensor) -> str:
    return ' x '.join(map(str, weight.shape)) or 'one number'

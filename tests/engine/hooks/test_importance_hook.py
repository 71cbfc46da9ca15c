"""EWC, PI and RW in real runs: resumed, in two processes, shared."""

import shutil
from pathlib import Path

import pytest
import torch
from helpers import Stop, assert_equal_weights, run_tool, weights

from mmseg_rbc.engine import run_sequence

METHODS = ['ewc', 'pi', 'rw']


def importance(folder: Path) -> dict:
    return torch.load(folder / 'importance.pth', weights_only=True)


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp('importance')


@pytest.fixture
def config(tiny_config):
    """Return a config whose penalty suits its large learning rate."""

    def load(method: str) -> tuple:
        return tiny_config(method, **{'method.importance.weight': 10.0})

    return load


@pytest.fixture
def finished(runs, config):
    """Return the work dir of an uninterrupted run of a method."""

    def run(method: str) -> Path:
        cfg, options = config(method)
        run_sequence(cfg, str(runs / method), options=options)
        return runs / method

    return run


@pytest.mark.parametrize('method', METHODS)
def test_stopped_and_resumed_run_ends_the_same(
    finished, config, tmp_path, method
):
    """Stop each step in its second epoch (steps of 2 epochs)."""
    for iteration in (7, 4):
        cfg, options = config(method)
        cfg.custom_hooks.append(dict(type='StopHook', iteration=iteration))
        with pytest.raises(Stop):
            run_sequence(cfg, str(tmp_path), resume=True, options=options)
        cfg, options = config(method)
        step = 0 if iteration == 7 else 1
        run_sequence(
            cfg, str(tmp_path), steps=[step], resume=True, options=options
        )
        log = ''.join(
            p.read_text() for p in tmp_path.glob(f'step_{step}/*/*.log')
        )
        assert 'resumed epoch: 1' in log
    for step in ('step_0', 'step_1'):
        one, two = finished(method) / step, tmp_path / step
        assert_equal_weights(
            weights(one / 'final.pth'), weights(two / 'final.pth')
        )
        a, b = importance(one), importance(two)
        assert a['blocks'] == b['blocks'] == [16, 5][: len(a['blocks'])]
        for name, tensors in a['tensors'].items():
            for part, value in tensors.items():
                assert torch.equal(value, b['tensors'][name][part]), name


def test_penalty_holds_the_weights_back(finished, config, tmp_path):
    """The larger its weight, the less the important weights move."""
    before = weights(finished('ewc') / 'step_0/final.pth')
    moved = []
    for weight in (0.0, 100.0):
        folder = tmp_path / str(weight)
        shutil.copytree(finished('ewc') / 'step_0', folder / 'step_0')
        cfg, options = config('ewc')
        cfg.method.importance.weight = weight
        run_sequence(cfg, str(folder), options=options)
        after = weights(folder / 'step_1/final.pth')
        strength = importance(folder / 'step_0')['tensors']
        moved.append(
            sum(
                (part['fisher'] * (after[name] - before[name]) ** 2)
                .sum()
                .item()
                for name, part in strength.items()
                if after[name].shape == before[name].shape
            )
        )
    assert moved[1] < 0.5 * moved[0]


def test_step_0_of_ewc_is_plain_fine_tuning(finished, tiny_config, tmp_path):
    """Gathering changes nothing, so other methods may share its step 0."""
    cfg, options = tiny_config('ft')
    run_sequence(cfg, str(tmp_path), steps=[0], options=options)
    assert_equal_weights(
        weights(finished('ewc') / 'step_0/final.pth'),
        weights(tmp_path / 'step_0/final.pth'),
    )


def test_shared_step_0_brings_its_importance(finished, config, tmp_path):
    cfg, options = config('ewc')
    source = str(finished('ewc'))
    run_sequence(cfg, str(tmp_path / 'a'), init_from=source, options=options)
    assert_equal_weights(
        weights(finished('ewc') / 'step_1/final.pth'),
        weights(tmp_path / 'a/step_1/final.pth'),
    )
    plain = tmp_path / 'plain.pth'
    shutil.copy(finished('ewc') / 'step_0/final.pth', plain)
    with pytest.raises(FileNotFoundError, match='importance of the weights'):
        run_sequence(
            cfg, str(tmp_path / 'b'), init_from=str(plain), options=options
        )
    cfg, options = config('rw')
    with pytest.raises(ValueError, match='gathered by EWC, but .* uses RW'):
        run_sequence(
            cfg, str(tmp_path / 'c'), init_from=source, options=options
        )


def test_two_processes_equal_one(tiny_root, tmp_path):
    """Both steps, with gradients averaged by gloo; no batch statistics."""
    script = Path(__file__).with_name('run_methods.py')
    for processes in (1, 2):
        folder = tmp_path / str(processes)
        run_tool(script, tiny_root, folder, *METHODS, processes=processes)
    for method in METHODS:
        one, two = (tmp_path / n / method / 'step_1' for n in '12')
        before = weights(tmp_path / '1' / method / 'step_0/final.pth')
        a, b = weights(one / 'final.pth'), weights(two / 'final.pth')
        assert_equal_weights(a, b, tolerance=1e-5)
        key = 'backbone.stem.0.weight'
        assert (a[key] - before[key]).abs().max() > 1e-3
        first, second = importance(one), importance(two)
        pairs = [
            (value, second['tensors'][name][part])
            for name, tensors in first['tensors'].items()
            for part, value in tensors.items()
        ]
        # PI divides by the square of a movement that may be a rounding error.
        close = torch.cat([is_close(*pair) for pair in pairs])
        assert close.float().mean() > 0.999, method
        if method != 'pi':
            for value, other in pairs:
                error = (value - other).norm() / value.norm().clamp(min=1e-6)
                assert error < 1e-2, (method, error)


def is_close(value: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Compare each weight's importance to one in a hundred."""
    least = 0.01 * value.abs().median().item()
    return torch.isclose(value, other, rtol=0.01, atol=least).flatten()

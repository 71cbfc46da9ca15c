"""All that is checked before the first iteration."""

import shutil
from collections import namedtuple
from pathlib import Path

import pytest
import torch

from mmseg_rbc.engine import run_sequence
from mmseg_rbc.engine.checks import check_disk, check_pretrained

Usage = namedtuple('Usage', 'total used free')


def test_disk(monkeypatch, tmp_path):
    """Four megabytes: two finals, and a checkpoint twice as large."""
    weights = dict(a=torch.zeros(1000, 250))
    asked = []

    def usage(place):
        asked.append(place)
        return Usage(10**9, 0, free)

    monkeypatch.setattr(shutil, 'disk_usage', usage)
    free = 4_000_000
    check_disk(str(tmp_path / 'new/run'), weights, 2)
    assert asked == [str(tmp_path)]
    free = 3_999_999
    sentence = '0.00 GB left, but the checkpoints of 2 steps need at least'
    with pytest.raises(ValueError, match=sentence):
        check_disk(str(tmp_path), weights, 2)
    check_disk(str(tmp_path), weights, 0)


def test_weights_to_begin_with(tiny_config, tmp_path):
    """A file must be there, an address need not."""
    init = dict(type='Pretrained', checkpoint=str(tmp_path / 'a.pth'))
    cfg, _ = tiny_config('ft')
    cfg.model.backbone.init_cfg = init
    with pytest.raises(FileNotFoundError, match='checkpoint is .*a.pth, whi'):
        run_sequence(cfg, str(tmp_path / 'run'), check_only=True)
    (tmp_path / 'a.pth').touch()
    check_pretrained(cfg)
    cfg.model.backbone.init_cfg = [dict(init, checkpoint='mmcls://a')]
    check_pretrained(cfg)
    cfg.model.backbone.init_cfg = None
    check_pretrained(cfg)


def test_only_checked(tiny_config, tmp_path):
    cfg, options = tiny_config('rbc')
    folder = tmp_path / 'run'
    found = run_sequence(cfg, str(folder), options=options, check_only=True)
    assert found == [] and not folder.exists()


def test_given_step_0_is_checked_too(tiny_run, tiny_config, tmp_path):
    """And nothing is written: --check --init-from."""
    cfg, options = tiny_config('rbc')
    how = dict(init_from=str(tiny_run), check_only=True)
    assert run_sequence(cfg, str(tmp_path), options=options, **how) == []
    options['continual.setting'] = 'disjoint'
    cfg.continual.setting = 'disjoint'
    with pytest.raises(ValueError, match="with setting 'overlapped'"):
        run_sequence(cfg, str(tmp_path), options=options, **how)
    assert not list(Path(tmp_path).iterdir())


def test_step_1_that_cannot_be_trained_is_found_first(tiny_config, tmp_path):
    cfg, options = tiny_config('plop')
    cfg.custom_hooks = []
    with pytest.raises(ValueError, match='^step 1 fails in a trial'):
        run_sequence(cfg, str(tmp_path), options=options)
    assert not list(Path(tmp_path).iterdir())


def test_finished_steps_are_not_tried(tiny_run, tiny_config, tmp_path):
    """The hook is missing, but the step that needs it is done."""
    cfg, options = tiny_config('plop')
    cfg.custom_hooks = []
    assert len(run_sequence(cfg, str(tiny_run), options=options)) == 2

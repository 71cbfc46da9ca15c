"""Run methods on two quick steps; test_importance_hook.py launches it.

Usage: ``run_methods.py DATA_ROOT WORK_DIR [METHOD ...]``, in one process or
under torchrun.
"""

import os
import sys
from pathlib import Path

from helpers import make_tiny_config
from mmengine.registry import init_default_scope

from mmseg_rbc.engine import run_sequence
from mmseg_rbc.engine.launch import processes


def main(data_root: str, work_dir: str, *methods: str) -> None:
    launcher = 'pytorch' if 'WORLD_SIZE' in os.environ else 'none'
    init_default_scope('mmseg')
    changes = {
        'continual.indices': 16,
        'schedule.base': dict(lr=0.05, epochs=4, batch_size=4),
        'schedule.later': dict(lr=0.05, epochs=4, batch_size=4),
        'method.importance.weight': 5.0,
        # PI divides by the smallest of movements: no further factors.
        'recipe.new_rows_lr': None,
        'recipe.clip_norm': None,
        # Batch statistics would differ between one process and two.
        'model.backbone.norm_eval': True,
        'model.decode_head.norm_cfg': None,
    }
    with processes(launcher, 0, {}):
        for method in methods:
            cfg, options = make_tiny_config(data_root, method, **changes)
            cfg.launcher = launcher
            run_sequence(cfg, str(Path(work_dir) / method), options=options)


if __name__ == '__main__':
    main(*sys.argv[1:])

"""A hook that test_sequence.py adds to runs of tools/train.py."""

import json
from pathlib import Path

from mmengine.hooks import Hook
from mmengine.registry import HOOKS


@HOOKS.register_module()
class RecordLosses(Hook):
    """Write the losses of every iteration of every process."""

    def __init__(self) -> None:
        self.losses: list[dict] = []

    def after_train_iter(self, runner, batch_idx, data_batch, outputs) -> None:
        self.losses.append({k: float(v) for k, v in outputs.items()})
        path = Path(runner.work_dir) / f'losses_{runner.rank}.json'
        path.write_text(json.dumps(self.losses))

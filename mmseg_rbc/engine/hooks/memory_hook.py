"""Choose the images that later steps keep."""

from __future__ import annotations

from mmengine.dist import is_main_process
from mmengine.hooks import Hook
from mmengine.registry import HOOKS
from mmengine.runner import Runner

from mmseg_rbc.datasets.memory import (
    base_dataset,
    choose_memory,
    read_memory,
    records_of,
    write_memory,
)
from mmseg_rbc.runs import StepDir


@HOOKS.register_module()
class MemoryHook(Hook):
    """Write ``memory.json`` at the end of a step.

    See :func:`.choose_memory`; the choice is the same whenever it is made, so
    a step that is stopped here and resumed writes the same file.

    Args:
        size: Images to keep.
        previous: Checkpoint of the previous step, from step 1 on.
    """

    def __init__(self, size: int, previous: str | None = None) -> None:
        self.size = size
        self.previous = previous

    def after_step(self, runner: Runner) -> None:
        """Choose among the images of the step and those in memory."""
        if not is_main_process():
            return
        dataset = base_dataset(runner.train_dataloader.dataset)
        candidates = records_of(dataset)
        if self.previous is not None:
            earlier = read_memory(StepDir.of(self.previous).memory)
            candidates = [*earlier, *candidates]
        names = dataset.metainfo['seen'][1:]
        seed = runner.seed or 0
        chosen = choose_memory(candidates, self.size, names, seed)
        path = StepDir(runner.work_dir).memory
        write_memory(path, chosen)
        runner.logger.info(f'{len(chosen)} images in memory: {path}')

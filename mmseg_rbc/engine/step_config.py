"""From the config of a run to the complete config of each step.

A config names the parts of a run once: ``continual`` (task, setting, ... of
the data sets), ``method`` (what :class:`IncrementalEncoderDecoder` takes, and
more), ``schedule``, and perhaps ``crop_size``. :class:`RunConfig` derives from
it, once, the task and the config of every step, which MMSeg's own tools can
run; the four parts are not in it any more.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from mmengine.config import Config
from mmseg.registry import MODELS

from mmseg_rbc.datasets.draws import with_draws
from mmseg_rbc.datasets.memory import with_memory
from mmseg_rbc.datasets.wrappers import base_datasets
from mmseg_rbc.models.heads import check_head_class
from mmseg_rbc.runs import StepDir, WorkDir
from mmseg_rbc.tasks import Task
from mmseg_rbc.utils.keys import find_class

from .batch import set_batch
from .config_parts import (
    PARTS,
    check_parts,
    config_classes,
    continual_type,
    merge_options,
    method_types,
)
from .config_values import check_values
from .recipe import apply_recipe
from .runner_keys import PHASES, check_runner_keys
from .step_parts import (
    NOT_OF_MODEL,
    complete,
    continual_metrics,
    continual_pipeline,
    keep_labels,
    method_hooks,
    segmentor_type,
    set_crop,
    with_erase,
)
from .training_loop import check_length, follow_loop, set_length


class RunConfig:
    """The config of a run, and what follows from it.

    Args:
        cfg: The config of all steps, with ``options`` merged.
        options: What the user set on the command line: merged once more into
            every step, so the user wins.

    Attributes:
        classes: All class names, background first.
        task: What the network learns; Joint learns all of it in one step.
        split: What the results are grouped by; differs from ``task`` for
            Joint only.
    """

    def __init__(
        self, cfg: Config, options: Mapping[str, Any] | None = None
    ) -> None:
        check_parts(cfg, options or ())
        self.cfg = cfg
        self.options = {
            key: value
            for key, value in (options or {}).items()
            if key.split('.')[0] not in PARTS
        }
        self.method: dict[str, Any] = dict(cfg.get('method') or {})
        self.classes = config_classes(cfg)
        wanted, order = cfg.continual['task'], cfg.continual.get('order')
        self.split = Task.make(wanted, self.classes, order)
        self._trained = wanted
        if self.method.get('joint'):
            # One step; a list keeps the order and choice of its classes.
            self._trained = 'offline'
            if not isinstance(wanted, str):
                self._trained = [[name for step in wanted for name in step]]
        self.task = Task.make(self._trained, self.classes, order)
        check_values(cfg, self.task.num_steps)
        check_length(cfg, options or ())

    @property
    def base_criterion(self) -> dict[str, Any]:
        """The criterion of step 0, cross entropy by default."""
        default = dict(type='PixelCrossEntropy')
        return self.method.get('base_criterion', default)

    @property
    def shares_batch(self) -> bool:
        """Whether the batch is that of the schedule, of all processes.

        Otherwise it is that of one process, as in MMSeg.
        """
        own = 'train_dataloader.batch_size' in self.options
        return bool(self.cfg.get('schedule')) and not own

    def identity(self, step: int) -> dict[str, Any]:
        """Return what tells a finished step from that of another run.

        Step 0 is the same in all tasks with its classes, such as 15-5 and
        15-1, but not for methods with another criterion in it.
        """
        identity = dict(
            step=step,
            setting=self.cfg.continual.get('setting', 'overlapped'),
            classes=[self.classes[c] for c in self.task.seen(step)],
        )
        if step == 0:
            return dict(identity, base_criterion=self.base_criterion['type'])
        return dict(
            identity, task=self.task.name, method=method_types(self.method)
        )

    def network_identity(self, step: int) -> dict[str, Any]:
        """Return what a checkpoint of a step says of it."""
        identity = self.identity(step)
        return {key: v for key, v in identity.items() if key != 'method'}

    def steps(self, work_dir: str, world_size: int = 1) -> list[Config]:
        """Return the config of every step of a run in a work dir."""
        folder = WorkDir(work_dir)
        return [
            self.step(step, work_dir, folder.previous(step), world_size)
            for step in range(self.task.num_steps)
        ]

    def step(
        self,
        step: int,
        work_dir: str = 'work_dirs',
        previous: str | None = None,
        world_size: int = 1,
    ) -> Config:
        """Return the complete config of one step.

        Args:
            step: The continual step.
            work_dir: Folder of all steps.
            previous: Checkpoint of the previous step, from step 1 on.
            world_size: Processes that share the batch of the config, which
                is that of them all.
        """
        # A Runner prints its config into every checkpoint; to format it with
        # yapf each time takes longer than a small step.
        content = copy.deepcopy(self.cfg.to_dict())
        cfg = Config(content, format_python_code=False)
        self._set_data(cfg, step)
        if 'crop_size' in cfg:
            set_crop(cfg)
        if 'model' in cfg:
            self._set_model(cfg, step, previous)
        if cfg.get('schedule'):
            part = cfg.schedule.base if step == 0 else cfg.schedule.later
            views = 2 if step > 0 and self.method.get('erase') else 1
            set_batch(cfg, part, views, world_size)
            equal = (cfg.get('recipe') or {}).get('equal_steps')
            set_length(cfg, part, shorter=views if equal else 1)
        if step > 0 and 'model' in cfg:
            apply_recipe(cfg)
        follow_loop(cfg)
        complete(cfg)
        self._set_runtime(cfg, step, WorkDir(work_dir).step(step))
        for part in PARTS:
            cfg.pop(part, None)
        merge_options(cfg, self.options)
        check_runner_keys(cfg)
        loader = cfg.train_dataloader
        if not self.shares_batch:
            loader.batch_size = loader.get('batch_size', 1) * world_size
        memory = self.method.get('memory')
        if memory and step > 0:
            file = StepDir.of(previous or '').memory
            loader = with_memory(loader, file, memory.get('share', 0.5))
        # Last: options name the data set and the sampler of the config.
        cfg.train_dataloader = with_draws(loader)
        return cfg

    def _set_data(self, cfg: Config, step: int) -> None:
        """Tell the data sets their step, and erase where the method does."""
        erase = self.method.get('erase')
        continual = dict(cfg.continual, task=self._trained, step=step)
        for phase in PHASES:
            loader = cfg.get(f'{phase}_dataloader') or {}
            for dataset in base_datasets(loader.get('dataset')):
                where = f'{phase}_dataloader.dataset'
                kind = continual_type(dataset.type, f'{where}.type')
                dataset.update(continual, type=kind)
                dataset.test_mode = phase != 'train'
                dataset.pipeline = continual_pipeline(
                    dataset.pipeline, f'{where}.pipeline'
                )
                if erase and step > 0 and phase == 'train':
                    dataset.pipeline = with_erase(dataset.pipeline, erase)

    def _set_model(self, cfg: Config, step: int, previous: str | None) -> None:
        """Size the heads, and give the model its method and its teacher."""
        model = cfg.model
        model.type = segmentor_type(model.type)
        if model.data_preprocessor.get('type') == 'SegDataPreProcessor':
            model.data_preprocessor.type = 'DupletDataPreProcessor'
        heads = [model.decode_head, model.get('auxiliary_head') or []]
        for head in heads:
            for one in head if isinstance(head, (list, tuple)) else [head]:
                cls = find_class(one.type, MODELS, 'type of a head')
                check_head_class(cls, one)
                one.num_classes = len(self.task.seen(step))
        cfg.custom_hooks = [
            *(cfg.get('custom_hooks') or []),
            *method_hooks(self.method, step, previous),
        ]
        if step == 0:
            model.method = dict(criterion=self.base_criterion)
            return
        model.method = {
            key: part
            for key, part in self.method.items()
            if key not in NOT_OF_MODEL
        }
        if self.method.get('memory'):
            keep_labels(model.method)
        model.previous = dict(
            checkpoint=previous,
            num_classes=len(self.task.old(step)),
            expected=self.network_identity(step - 1),
        )

    def _set_runtime(self, cfg: Config, step: int, folder: StepDir) -> None:
        cfg.work_dir = folder.path
        cfg.experiment_name = f'step_{step}'
        # A visualizer of the same name would keep writing into the folder of
        # the step before; without one it takes that of the experiment.
        (cfg.get('visualizer') or {}).pop('name', None)
        cfg.log_processor = dict(
            cfg.get('log_processor') or {},
            type='ContinualLogProcessor',
            step=step,
            last_step=self.task.num_steps - 1,
        )
        for phase in ('val', 'test'):
            for metric in continual_metrics(cfg.get(f'{phase}_evaluator')):
                metric['out_file'] = folder.metrics
                if self.split != self.task:
                    metric['num_base'] = len(self.split.seen(0))


def step_config(
    cfg: Config,
    step: int,
    work_dir: str = 'work_dirs',
    previous: str | None = None,
    world_size: int = 1,
    options: Mapping[str, Any] | None = None,
) -> Config:
    """Return the complete config of one step, see :class:`RunConfig`."""
    run = RunConfig(cfg, options)
    return run.step(step, work_dir, previous, world_size)

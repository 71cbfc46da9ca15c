"""Parts of a step's config: transforms, segmentor and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmengine.config import Config, ConfigDict
from mmseg.datasets.transforms import PackSegInputs
from mmseg.registry import MODELS, TRANSFORMS

from mmseg_rbc.datasets.transforms import PackDupletInputs
from mmseg_rbc.datasets.wrappers import base_datasets
from mmseg_rbc.models import IncrementalEncoderDecoder
from mmseg_rbc.utils.keys import arguments, find_class

from .runner_keys import PHASES

# Parts of a method that the segmentor does not take.
NOT_OF_MODEL = (
    'base_criterion',
    'erase',
    'importance',
    'fusion',
    'memory',
    'joint',
)
# What takes the place of a part of MMSeg that does the same in one step.
CONTINUAL_TRANSFORMS = dict(
    LoadAnnotations='LoadContinualAnnotations',
    PackSegInputs='PackDupletInputs',
)
CONTINUAL_SEGMENTORS = dict(
    EncoderDecoder='IncrementalEncoderDecoder',
    CascadeEncoderDecoder='IncrementalCascadeEncoderDecoder',
)


def continual_pipeline(pipeline: list[dict], where: str) -> list[dict]:
    """Return a pipeline with our transforms where MMSeg has some like them.

    Args:
        pipeline: The configs of the transforms.
        where: Its place in the config.
    """
    found = []
    for transform in pipeline:
        kind = transform.get('type')
        ours = CONTINUAL_TRANSFORMS.get(str(kind), kind)
        found.append(ConfigDict(transform, type=ours))
        if transform.get('reduce_zero_label') and ours != kind:
            raise ValueError(
                f'{where}: {kind} has reduce_zero_label=True, which makes '
                'value 0 ignored, but class 0 is what a step does not know: '
                'leave it out'
            )
    last = found[-1].get('type')
    if isinstance(last, str) and last != 'PackDupletInputs':
        cls = find_class(last, TRANSFORMS, f'{where}.{len(found) - 1}.type')
        if not issubclass(cls, (PackDupletInputs, PackSegInputs)):
            raise ValueError(
                f'{where} ends with {last}, but its last transform must pack '
                'the inputs: add dict(type="PackDupletInputs")'
            )
    return found


def with_erase(pipeline: list[dict], erase: dict) -> list[dict]:
    """Return a training pipeline that erases before it packs."""
    last = pipeline[-1].get('type')
    if last != 'PackDupletInputs':
        raise ValueError(
            f'the training pipeline ends with {last}, but a method that '
            'erases needs PackDupletInputs there'
        )
    return [*pipeline[:-1], erase, pipeline[-1]]


def set_crop(cfg: Config) -> None:
    """Give the transforms and the preprocessor the crop of the config.

    A value that lists of transforms share cannot be inherited otherwise.
    """
    size = cfg.crop_size
    if isinstance(size, int):
        size = (size, size)
    sizes = dict(RandomResizedCrop=size, CenterCropShortSide=min(size))
    for phase in PHASES:
        loader = cfg.get(f'{phase}_dataloader') or {}
        for dataset in base_datasets(loader.get('dataset')):
            for transform in dataset.get('pipeline') or []:
                name = str(transform.get('type'))
                if name in sizes:
                    transform['crop_size'] = sizes[name]
            if f'{phase}_pipeline' in cfg:
                # MMSeg's inference_model() takes the pipeline from here.
                cfg[f'{phase}_pipeline'] = dataset.pipeline
    if 'model' in cfg:
        cfg.model.data_preprocessor.size = size


def complete(cfg: Config) -> None:
    """Add what MMSeg's tools ask of the config of a step, where it is not.

    ``inference_model`` takes the transforms from the top of a config, and
    only ``custom_imports`` has other tools know our classes.
    """
    for phase in ('test', 'val'):
        loader = cfg.get(f'{phase}_dataloader') or {}
        for dataset in base_datasets(loader.get('dataset')):
            cfg.setdefault('test_pipeline', dataset.pipeline)
    cfg.setdefault('custom_imports', dict(imports=['mmseg_rbc']))


def method_hooks(
    method: Mapping[str, Any], step: int, previous: str | None
) -> list[dict[str, Any]]:
    """Return the hooks that parts of a method need in a step.

    Args:
        method: The parts.
        step: The continual step.
        previous: Checkpoint of the previous step, from step 1 on.
    """
    hooks = []
    if method.get('importance'):
        part = method['importance']
        hooks.append(dict(type='ImportanceHook', regularizer=part))
    if method.get('fusion') and step > 0:
        hooks.append(dict(type='FusionHook', fusion=method['fusion']))
    if method.get('memory'):
        hooks.append(dict(type='MemoryHook', size=method['memory']['size']))
    return [dict(hook, previous=previous) for hook in hooks]


def keep_labels(method: dict[str, Any]) -> None:
    """Let parts believe the old labels that images in memory carry.

    Without memory there are none, but in the ``sequential`` setting.

    Args:
        method: Parts of the segmentor; those that can are told, in place.
    """
    for key in ('criterion', 'pseudo_labeler'):
        part = method.get(key)
        where = f'method.{key}'
        if part and 'keep_labels' in (
            arguments(find_class(part['type'], MODELS, where)) or ()
        ):
            part.setdefault('keep_labels', True)


def segmentor_type(name: str) -> str:
    """Return the continual segmentor that takes the place of another one."""
    if name in CONTINUAL_SEGMENTORS:
        return CONTINUAL_SEGMENTORS[name]
    cls = find_class(name, MODELS, 'model.type')
    if not issubclass(cls, IncrementalEncoderDecoder):
        raise ValueError(
            f'model.type={name!r} cannot learn step by step: use '
            '"EncoderDecoder", "CascadeEncoderDecoder", or a class derived '
            'from IncrementalEncoderDecoder'
        )
    return name


def continual_metrics(evaluator: Any) -> list[dict[str, Any]]:
    """Return the configs of our metric in an evaluator, or in several."""
    if isinstance(evaluator, dict) and 'metrics' in evaluator:
        evaluator = evaluator['metrics']
    several = evaluator if isinstance(evaluator, list) else [evaluator or {}]
    return [
        metric
        for metric in several
        if metric.get('type') == 'ContinualIoUMetric'
    ]

"""A memory of earlier steps: which images it keeps, and with which labels.

An image in memory carries the labels of the step that it is of, and no other:
what the setting hid in that step stays hidden, and what later steps learned is
background. An image of two steps (``overlapped``) may be in memory once for
each, and in the images of the present step as well.
"""

from __future__ import annotations

import hashlib
import json
import os.path as osp
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mmengine.config import ConfigDict
from mmengine.dataset import RepeatDataset
from mmseg.registry import DATASETS

from mmseg_rbc.utils.files import write_json

from .continual import ContinualMixin
from .memory_sampler import draws_of_step
from .wrappers import base_datasets


@dataclass
class Record:
    """An image in memory.

    Attributes:
        image: Its path below the image folder.
        mask: That of its mask below the mask folder.
        step: The step whose labels it carries.
        labels: Names of the classes among these that it shows.
    """

    image: str
    mask: str
    step: int
    labels: list[str]

    def __post_init__(self) -> None:
        texts = [self.image, self.mask, *self.labels]
        if type(self.step) is not int or {*map(type, texts)} != {str}:
            raise ValueError(f'{self} is no image with its step and labels')


def choose_memory(
    candidates: Sequence[Record],
    size: int,
    classes: Sequence[str],
    seed: int = 0,
) -> list[Record]:
    """Choose images so that every class is in about as many of them.

    Again and again the class that the fewest chosen images show, the first of
    several, gets its next image, in the order of the SHA-256 of
    ``"<seed>/<step>/<image>"``. The choice depends on nothing but the seed
    and what the records say.

    Args:
        candidates: Images of the present step, and those in memory.
        size: How many to keep.
        classes: Foreground classes seen so far, in network order.
        seed: Of the run.
    """
    ordered = sorted(candidates, key=lambda r: _rank(r, seed))
    waiting = {
        name: [record for record in ordered if name in record.labels]
        for name in classes
    }
    shown = dict.fromkeys(classes, 0)
    chosen: list[Record] = []
    while len(chosen) < size and any(waiting.values()):
        left = [name for name in classes if waiting[name]]
        record = waiting[min(left, key=shown.__getitem__)][0]
        chosen.append(record)
        for name in record.labels:
            shown[name] += 1
            waiting[name].remove(record)
    return chosen


def _rank(record: Record, seed: int) -> bytes:
    text = f'{seed}/{record.step}/{record.image}'
    return hashlib.sha256(text.encode()).digest()


def records_of(dataset: Any) -> list[Record]:
    """Return what the images of a step would be in memory.

    Args:
        dataset: A :class:`ContinualMixin` for training.
    """
    infos = [dataset.get_data_info(i) for i in range(len(dataset))]
    index = dataset.classes_of(infos)
    labels = dataset.train_label_map(dataset.step)
    # What the step does not label nobody looks at.
    # Several values may be one class, which an image shows once.
    visible = dict.fromkeys(
        c for value, c in dataset.class_ids.items() if labels[value] > 0
    )
    folders = _folders(dataset)
    return [
        Record(
            osp.relpath(info['img_path'], folders[0]),
            osp.relpath(info['seg_map_path'], folders[1]),
            dataset.step,
            [dataset.all_classes[c] for c in visible if has[c]],
        )
        for info, has in zip(infos, index)
    ]


def _folders(dataset: Any) -> tuple[str, str]:
    prefix = dataset.data_prefix
    return prefix.get('img_path') or '.', prefix.get('seg_map_path') or '.'


def write_memory(path: str, records: Sequence[Record]) -> None:
    """Write the images in memory as a list."""
    write_json(path, [asdict(record) for record in records])


def read_memory(path: str) -> list[Record]:
    """Read the images in memory."""
    if not osp.isfile(path):
        raise FileNotFoundError(
            f'the memory of the previous step {path} does not exist: train '
            'that step with method.memory too'
        )
    try:
        with open(path) as file:
            return [Record(**record) for record in json.load(file)]
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(
            f'{path} is no list of images in memory ({error}): delete '
            'finished.json beside it to have it written again'
        ) from None


def base_dataset(dataset: Any) -> Any:
    """Return the continual data set inside wrappers."""
    while not isinstance(dataset, ContinualMixin):
        dataset = dataset.dataset
    return dataset


@DATASETS.register_module()
class MemoryDataset(RepeatDataset):
    """The images of a step, and behind them those in memory.

    Args:
        dataset: Config of the data set of the step.
        memory: The list of images that the previous step wrote.
    """

    def __init__(self, dataset: Mapping, memory: str) -> None:
        self.memory = memory
        super().__init__(dataset, times=1)

    def full_init(self) -> None:
        """Find the images in memory."""
        if self._fully_initialized:
            return
        super().full_init()
        base = base_dataset(self.dataset)
        folders = _folders(base)
        palette = base.mask_palette
        colors = {} if palette is None else dict(mask_palette=palette)
        self._remembered = [
            dict(
                colors,
                img_path=osp.join(folders[0], record.image),
                seg_map_path=osp.join(folders[1], record.mask),
                label_map=base.train_label_map(record.step),
                reduce_zero_label=False,
                seg_fields=[],
                num_old=base.metainfo['num_old'],
            )
            for record in read_memory(self.memory)
        ]
        if not self._remembered:
            raise ValueError(
                f'the memory {self.memory} is empty: no image of the steps '
                'before shows one of their classes; leave method.memory out'
            )

    @property
    def num_memory(self) -> int:
        """How many images are in memory."""
        return len(self._remembered)

    def __len__(self) -> int:
        return self._ori_len + self.num_memory

    def get_data_info(self, idx: int) -> dict:
        """Return what is known of a sample."""
        if idx < self._ori_len:
            return self.dataset.get_data_info(idx)
        info = self._remembered[idx - self._ori_len]
        return dict(info, seg_fields=[], sample_idx=idx)

    def __getitem__(self, idx: int) -> Any:
        if idx < self._ori_len:
            return self.dataset[idx]
        return base_dataset(self.dataset).pipeline(self.get_data_info(idx))


def with_memory(loader: ConfigDict, memory: str, share: float) -> ConfigDict:
    """Return the config of a training data loader that shows a memory.

    Args:
        loader: Its config without one.
        memory: The list of images that the previous step wrote.
        share: Of a batch that comes from memory.
    """
    if len([*base_datasets(loader.dataset)]) != 1:
        raise ValueError(
            'method.memory keeps images of one data set, but '
            'train_dataloader.dataset joins several: use one'
        )
    kind = loader.sampler.get('type')
    kinds = ('DefaultSampler', 'InfiniteSampler')
    if kind not in kinds or loader.get('batch_sampler'):
        raise ValueError(
            f'method.memory fills batches itself, but train_dataloader uses '
            f'{loader.get("batch_sampler") or kind}: use one of '
            f'{" and ".join(kinds)} and no batch_sampler'
        )
    size = loader.get('batch_size', 1)
    if draws_of_step(size, share) == size:
        raise ValueError(
            f'of a batch of {size} image(s) none would come from memory: '
            'raise schedule.later.batch_size or method.memory.share'
        )
    dataset = dict(type='MemoryDataset', dataset=loader.dataset, memory=memory)
    sampler = dict(
        type='MemorySampler',
        share=share,
        shuffle=loader.sampler.get('shuffle', True),
        infinite=kind == 'InfiniteSampler',
    )
    return ConfigDict(loader, dataset=dataset, sampler=sampler)

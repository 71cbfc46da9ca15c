"""Continual data sets."""

from __future__ import annotations

import os.path as osp
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mmseg_rbc.tasks import IGNORE_INDEX, Task
from mmseg_rbc.utils.files import check_files, check_list

from .class_index import index_digest, load_class_index, remembered_index
from .classes import (
    by_class,
    check_label_values,
    class_colors,
    class_names,
    map_values,
    values_of,
)
from .masks import Palette, check_palette
from .readable import drop_unreadable
from .splits import (
    check_setting,
    read_split,
    select_images,
    unlisted_classes,
    without_blank_lines,
)


class ContinualMixin:
    """Make any ``BaseSegDataset`` continual.

    Put it before the data set: ``class MyContinual(ContinualMixin, MyData)``.
    In training it keeps the images of one step and labels only the classes of
    that step; with ``test_mode=True`` it labels all classes seen so far.

    ``metainfo['classes']`` names the value ``i`` of the masks at position
    ``i``, unless ``label_map`` does. If the first one is ``background`` it is
    class 0; otherwise the data has no background, and class 0, ``not learned
    yet``, is what the network has not learned: no class, and in no mean.

    The ``metainfo`` of the data set then holds ``classes`` and ``palette`` of
    the seen classes in network order, the names ``old``, ``new`` and ``seen``
    and ``num_old``, ``task``, ``step``, ``setting``, ``label_values`` (one
    mask value of each seen class) and, when testing, ``unseen`` and
    ``eval_images``. Every sample carries ``num_old``. The
    attributes ``all_classes`` and ``all_colors`` (by class id) and
    ``class_ids`` (by mask value) describe the whole data set.

    Args:
        task: ``'offline'``, ``'B-N'`` such as ``'15-1'``, or the class names
            of every step.
        step: The continual step.
        setting: ``overlapped``, ``disjoint``, ``sequential`` or
            ``partitioned``; see :func:`~.splits.select_images`.
        order: Order of the foreground ids, or the letter of a VOC order.
        seed: Seed of the ``partitioned`` setting.
        split_dir: Folder with published ``train-<step>.npy`` index arrays,
            which replace the rule of the setting.
        unseen: Label of classes not seen yet in evaluation: ``background`` or
            ``ignore``.
        eval_images: Images to evaluate before the last step, which takes all:
            ``all``, or those with a foreground class that is ``seen``
            (published code).
        skip_unreadable: Whether to leave broken images and masks out instead
            of raising; ``num_skipped`` is their number.
        label_map: Names of the classes of mask values, such as ``{7: 'car',
            8: 'car'}``; see :func:`.map_values`.
        ignore_values: Mask values that are ignored, besides 255.
        mask_palette: Colors ``[red, green, blue]`` of the mask values 0, 1,
            ... if the masks have colors. No mask is rewritten.
        metainfo: As in MMSeg.
    """

    # Supplied by BaseSegDataset.
    METAINFO: dict
    ann_file: str
    data_prefix: dict
    data_list: list[dict]
    backend_args: dict | None
    img_suffix: str
    reduce_zero_label: bool
    _metainfo: dict

    def __init__(
        self,
        *args: Any,
        task: str | Sequence[Sequence[str]],
        step: int = 0,
        setting: str = 'overlapped',
        order: str | Sequence[int] | None = None,
        seed: int = 0,
        split_dir: str | None = None,
        unseen: str = 'background',
        eval_images: str = 'all',
        skip_unreadable: bool = False,
        label_map: Mapping[int, str] | None = None,
        ignore_values: Sequence[int] = (),
        mask_palette: Palette | None = None,
        metainfo: Mapping | None = None,
        **kwargs: Any,
    ) -> None:
        check_setting(setting, eval_images)
        info = self._load_metainfo(metainfo)  # type: ignore[attr-defined]
        self.all_classes, self.class_ids = self.name_classes(info)
        # Otherwise the data set itself knows the values of its masks.
        if self.class_ids:
            self.class_ids = map_values(
                self.all_classes,
                self.class_ids,
                label_map or {},
                ignore_values,
            )
        self.ignore_values = [int(value) for value in ignore_values]
        check_palette(mask_palette)
        self.mask_palette = mask_palette
        self.all_colors = class_colors(info.get('palette'), self.all_classes)
        self.task = Task.make(task, self.all_classes, order)
        self.step = step
        self.setting = setting
        self.seed = seed
        self.split_dir = split_dir
        self.eval_images = eval_images
        self.skip_unreadable = skip_unreadable
        self.num_skipped = 0
        self._unseen = unseen
        self._is_test = kwargs.get('test_mode', False)
        seen = self.task.seen(step)
        info['classes'] = tuple(self.all_classes[c] for c in seen)
        info['palette'] = [self.all_colors[c] for c in seen]
        super().__init__(*args, metainfo=info, **kwargs)  # type: ignore[call-arg]
        # Not through the argument, which takes text for the name of a file.
        self._metainfo.update(self._step_metainfo())

    @classmethod
    def continual_classes(cls, metainfo: Mapping | None) -> list[str]:
        """Return all class names, background first, without any data."""
        info = cls._load_metainfo(metainfo)  # type: ignore[attr-defined]
        return cls.name_classes(info)[0]

    @classmethod
    def name_classes(cls, info: Mapping) -> tuple[list[str], dict[int, int]]:
        """Return class names by id, and the class id of mask values."""
        return class_names(info.get('classes'))

    def get_label_map(self, new_classes: Sequence | None = None) -> dict:
        """Map the values of the masks to labels of this step.

        Overrides the stock method, which sends omitted classes to 255.
        """
        if self.reduce_zero_label:
            raise ValueError(
                'reduce_zero_label=True makes background ignored, but class 0 '
                'is background in every continual task: set it to False and '
                'put "background" first in metainfo.classes, as '
                'ContinualADE20KDataset does'
            )
        if self._is_test:
            by_class = self.task.eval_label_map(self.step, self._unseen)
            return self._by_value(by_class)
        return self.train_label_map(self.step)

    def train_label_map(self, step: int) -> dict[int, int]:
        """Map the values of the masks to the training labels of a step."""
        label_old = self.setting == 'sequential'
        return self._by_value(self.task.train_label_map(step, label_old))

    def _by_value(self, by_class: Mapping[int, int]) -> dict[int, int]:
        by_value = {v: by_class[c] for v, c in self.class_ids.items()}
        ignored = (*self.ignore_values, IGNORE_INDEX)
        return {**by_value, **dict.fromkeys(ignored, IGNORE_INDEX)}

    def load_data_list(self) -> list[dict]:
        """Load the whole image list; blank lines do not count."""
        if self.is_local and self.ann_file:
            check_list(self.ann_file)
        infos = super().load_data_list()  # type: ignore[misc]
        place = self.ann_file or self.data_prefix.get('img_path')
        infos = without_blank_lines(infos, self.img_suffix, place)
        if self.is_local:
            self._find_masks(infos)
            paths = [info['img_path'] for info in infos]
            check_files(paths, 'image', self._listed_in)
        num_old = len(self.task.old(self.step))
        for info in infos:
            info['num_old'] = num_old
            if self.mask_palette is not None:
                info['mask_palette'] = self.mask_palette
        return infos

    def filter_data(self) -> list[dict]:
        """Keep the images of the step, or those to evaluate."""
        infos = super().filter_data()  # type: ignore[misc]
        # A split file counts positions in the whole list.
        by_position = self.split_dir and not self._is_test
        if not by_position:
            infos = self._without_unreadable(infos)
        last = self.step == self.task.num_steps - 1
        if self._is_test and (last or self.eval_images == 'all'):
            return infos
        kept = [infos[i] for i in self.select(infos)]
        if by_position:
            kept = self._without_unreadable(kept)
        if not kept:
            what = 'evaluation' if self._is_test else self.setting
            hint = unlisted_classes(self.task, self.setting, self.all_classes)
            raise ValueError(
                f'step {self.step} of {self.task} ({what}) selects none of '
                f'the {len(infos)} images of {self._listed_in}: check task, '
                f'order and setting{hint}'
            )
        return kept

    def class_index(self, infos: list[dict]) -> np.ndarray:
        """Return which label values the masks of samples hold.

        Returns:
            ``(len(infos), 256)`` bool.
        """
        if not self.is_local:
            raise ValueError(
                f'the masks of {type(self).__name__} are read through '
                f'{self.backend_args}, where they cannot be scanned: give '
                'split_dir, or use local masks'
            )
        paths = [info['seg_map_path'] for info in infos]
        return load_class_index(paths, palette=self.mask_palette)

    @property
    def is_local(self) -> bool:
        """Whether the files are on this machine."""
        return (self.backend_args or {}).get('backend', 'local') == 'local'

    @property
    def _listed_in(self) -> str:
        return self.ann_file or 'the folder'

    def classes_of(self, infos: list[dict]) -> np.ndarray:
        """Return which classes samples hold.

        Returns:
            ``(len(infos), classes)`` bool, by class id.
        """
        by_value = remembered_index(infos, self.class_index)
        paths = [info['seg_map_path'] for info in infos]
        check_label_values(by_value, list(self.get_label_map()), paths)
        return by_class(by_value, self.class_ids, self.task.num_classes)

    def fingerprint(self) -> str:
        """Return a digest of the names and known labels of all samples.

        Nothing is read for it: the labels count if the images of the step
        were selected by them.
        """
        infos = [self.get_data_info(i) for i in range(len(self))]  # type: ignore
        return index_digest(self._names(infos), infos)

    def select(self, infos: list[dict]) -> np.ndarray:
        """Return the positions of the samples that are kept."""
        if self.split_dir and not self._is_test:
            return read_split(self.split_dir, self.step, len(infos))
        index = self.classes_of(infos)
        if self._is_test:
            foreground = list(self.task.seen(self.step))[1:]
            return np.flatnonzero(index[:, foreground].any(1))
        return select_images(
            index,
            self.task,
            self.step,
            self.setting,
            self._names(infos),
            self.seed,
        )

    def _names(self, infos: list[dict]) -> list[str]:
        """Return image names below the image folder, without suffix."""
        prefix = osp.join(self.data_prefix.get('img_path') or '', '')
        start, end = len(prefix), -len(self.img_suffix) or None
        return [info['img_path'][start:end] for info in infos]

    def _without_unreadable(self, infos: list[dict]) -> list[dict]:
        """Drop what cannot be read, if that is wanted."""
        if not (self.skip_unreadable and self.is_local):
            return infos
        readable = drop_unreadable(infos)
        self.num_skipped = len(infos) - len(readable)
        return readable

    def _find_masks(self, infos: list[dict]) -> None:
        """Raise if a mask is missing, before any training."""
        if not all('seg_map_path' in info for info in infos):
            raise ValueError(
                f'{type(self).__name__} needs masks: set '
                'data_prefix.seg_map_path'
            )
        paths = [info['seg_map_path'] for info in infos]
        check_files(paths, 'mask', self._listed_in)

    def _step_metainfo(self) -> dict:
        """Return what the metainfo says of this step."""
        seen = self._metainfo['classes']
        num_old = len(self.task.old(self.step))
        info = dict(old=seen[:num_old], new=seen[num_old:], seen=seen)
        info.update(num_old=num_old, num_base=len(self.task.seen(0)))
        info.update(task=self.task.name, step=self.step, setting=self.setting)
        order = self.task.seen(self.step)
        info.update(label_values=values_of(order, self.class_ids))
        if self._is_test:
            info.update(unseen=self._unseen, eval_images=self.eval_images)
        return info

"""Data for classes that a trained network gets: new images, stock images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmseg.datasets import BaseSegDataset
from mmseg.registry import DATASETS

from mmseg_rbc.tasks import IGNORE_INDEX

from .continual import ContinualMixin


class NetworkOrderMixin(ContinualMixin):
    """Classes in the order of a network, whose first need be no background.

    ``metainfo['classes']`` lists the classes of the network, then the new
    ones; values of masks are up to the data set.
    """

    @classmethod
    def name_classes(cls, info: Mapping) -> tuple[list[str], dict[int, int]]:
        """Return class names by id; mask values are not known here."""
        return list(info['classes']), {}

    def _step_metainfo(self) -> dict:
        """Return what the metainfo says of this step.

        Old and new masks have values of their own, which may be the same:
        predictions have the positions in the network.
        """
        info = super()._step_metainfo()
        return dict(info, label_values=list(range(len(info['seen']))))


@DATASETS.register_module()
class AddedClassesDataset(NetworkOrderMixin, BaseSegDataset):
    """Images in which only new classes are labeled.

    A pixel without a label is none of the new classes. In training it has
    label 0, which for :class:`.IncrementalEncoderDecoder` is a question, and
    in evaluation K, which :class:`.ContinualIoUMetric` counts for the new
    classes only.

    Args:
        values: Name of a new class and its value in the masks; a class may
            have several.
        unlabeled: Values of pixels that are none of the new classes.
        void: Values of pixels that are ignored, beside 255.
        kwargs: See :class:`.ContinualMixin` and ``BaseSegDataset``.
    """

    def __init__(
        self,
        *args: Any,
        values: Sequence[tuple[str, int]],
        unlabeled: Sequence[int] = (0,),
        void: Sequence[int] = (),
        **kwargs: Any,
    ) -> None:
        self.values = {value: name for name, value in values}
        self.unlabeled = unlabeled
        self.void = void
        super().__init__(*args, **kwargs)

    def get_label_map(self, new_classes: Sequence | None = None) -> dict:
        """Map the values of the masks to labels of this step."""
        ids = {name: i for i, name in enumerate(self.all_classes)}
        self.class_ids = {v: ids[name] for v, name in self.values.items()}
        unlabeled = len(self.task.seen(self.step)) if self._is_test else 0
        return {
            **super().get_label_map(),
            **dict.fromkeys(self.void, IGNORE_INDEX),
            **dict.fromkeys(self.unlabeled, unlabeled),
        }


class StockFiles(BaseSegDataset):
    """The files of another data set of MMSeg.

    Args:
        stock: Its config.
        kwargs: See ``BaseSegDataset``.
    """

    def __init__(
        self, *args: Any, stock: Mapping[str, Any], **kwargs: Any
    ) -> None:
        self.stock = DATASETS.build(dict(stock, pipeline=[], test_mode=True))
        super().__init__(*args, **kwargs)

    def load_data_list(self) -> list[dict]:
        """Return images and masks, with the labels of this data set."""
        infos = [self.stock.get_data_info(i) for i in range(len(self.stock))]
        return [
            dict(
                img_path=info['img_path'],
                seg_map_path=info['seg_map_path'],
                label_map=self.label_map,
                reduce_zero_label=False,
                seg_fields=[],
            )
            for info in infos
        ]


@DATASETS.register_module()
class StockDataset(NetworkOrderMixin, StockFiles):
    """The images that a stock network is evaluated on, for a grown one.

    Its classes are found by their names. Everything else is ignored.

    Args:
        stock: Config of a data set of MMSeg, with or without
            ``reduce_zero_label``, such as one of type ``CityscapesDataset``.
        kwargs: See :class:`.ContinualMixin`.
    """

    def get_label_map(self, new_classes: Sequence | None = None) -> dict:
        """Map the values of the masks to labels of this step."""
        ids = {name: i for i, name in enumerate(self.all_classes)}
        names = dict(enumerate(self.stock.metainfo['classes']))
        labels = {v: self._stock_label(v) for v in range(IGNORE_INDEX)}
        self.class_ids = {
            v: ids[names[label]]
            for v, label in labels.items()
            if names.get(label) in ids
        }
        known = super().get_label_map()
        return {v: known.get(v, IGNORE_INDEX) for v in range(256)}

    def _stock_label(self, value: int) -> int:
        """Return the label that stock MMSeg gives to a value."""
        if self.stock.reduce_zero_label:
            value = value - 1 if value else IGNORE_INDEX
        return (self.stock.label_map or {}).get(value, value)

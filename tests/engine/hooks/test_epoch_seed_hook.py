from types import SimpleNamespace

import pytest
import torch
from mmengine.registry import HOOKS
from mmengine.runner import EpochBasedTrainLoop, IterBasedTrainLoop
from mmseg.registry import DATASETS


@pytest.fixture
def dataset(write_data):
    """One image of 40 x 40 pixels, cut at random."""
    row = list(range(5)) * 8
    return DATASETS.build(
        dict(
            type='ContinualDataset',
            data_root=str(write_data(dict(a=[row] * 40))),
            data_prefix=dict(
                img_path='JPEGImages', seg_map_path='SegmentationClassAug'
            ),
            ann_file='list.txt',
            metainfo=dict(classes=['background', *'abcd']),
            task='2-1',
            pipeline=[
                dict(type='LoadImageFromFile'),
                dict(type='LoadContinualAnnotations'),
                dict(type='RandomResizedCrop', crop_size=(8, 8)),
            ],
        )
    )


def begin_epoch(dataset, seed, epoch, rank=0, loop=EpochBasedTrainLoop):
    runner = SimpleNamespace(
        train_loop=loop.__new__(loop),
        train_dataloader=SimpleNamespace(dataset=dataset),
        seed=seed,
        epoch=epoch,
        rank=rank,
    )
    HOOKS.build(dict(type='EpochSeedHook')).before_train_epoch(runner)


def test_crops_depend_on_seed_and_epoch(dataset):
    def crop(seed, epoch, rank=0):
        begin_epoch(dataset, seed, epoch, rank)
        return dataset[0]['gt_seg_map'].tolist()

    first = crop(3, 0)
    assert crop(3, 1) != first and crop(4, 0) != first
    assert crop(3, 0) == first, 'as in a resumed run'
    assert crop(3, 0, rank=1) == first, 'whichever process draws it'


def test_torch_begins_every_epoch_anew(dataset):
    """So dropout is repeated, but differs between processes."""

    def draw(*args):
        begin_epoch(dataset, *args)
        return torch.rand(5).tolist()

    first = draw(3, 0, 0)
    others = [draw(3, 1, 0), draw(4, 0, 0), draw(3, 0, 1)]
    assert first not in others and others[0] not in others[1:]
    assert draw(3, 0, 0) == first


def test_loop_of_iterations_is_left_alone(dataset):
    torch.manual_seed(0)
    expected = torch.rand(5)
    torch.manual_seed(0)
    begin_epoch(dataset, 3, 0, loop=IterBasedTrainLoop)
    assert torch.equal(torch.rand(5), expected)
    assert dataset._sample_seed.tolist() == [-1, -1]

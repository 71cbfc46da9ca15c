"""What the memory keeps, and that it shows no label that was hidden."""

import random
from collections import Counter

import numpy as np
import pytest
from mmengine.config import ConfigDict
from mmseg.registry import DATASETS

from mmseg_rbc.datasets import MemoryDataset, with_memory
from mmseg_rbc.datasets.memory import (
    Record,
    base_dataset,
    choose_memory,
    read_memory,
    records_of,
    write_memory,
)
from mmseg_rbc.datasets.splits import SETTINGS

NAMES = ['background', 'a', 'b', 'c', 'd']
PIPELINE = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadContinualAnnotations'),
    dict(type='PackDupletInputs'),
]


def record(number: int, *labels: str, step: int = 0) -> Record:
    return Record(f'{number}.jpg', f'{number}.png', step, list(labels))


def test_classes_are_balanced():
    """Of 90 images of class a and 10 of b, as many as of c are kept."""
    found = [record(i, 'a') for i in range(90)]
    found += [record(i, 'b') for i in range(90, 100)]
    found += [record(i, 'c', step=1) for i in range(100, 200)]
    for size, counts in (
        (9, [3, 3, 3]),
        (10, [4, 3, 3]),
        (40, [15, 10, 15]),
        (500, [90, 10, 100]),
    ):
        chosen = choose_memory(found, size, 'abc')
        shown = Counter(name for r in chosen for name in r.labels)
        assert [shown[name] for name in 'abc'] == counts
        assert len({(r.step, r.image) for r in chosen}) == len(chosen)


def test_an_image_counts_for_all_of_its_classes():
    found = [record(i, 'a', 'b') for i in range(5)] + [record(9, 'c')]
    chosen = choose_memory(found, 3, 'abc')
    assert record(9, 'c') in chosen
    assert chosen[2].labels == ['a', 'b']


def test_choice_depends_on_the_seed_alone():
    found = [record(i, 'ab'[i % 2]) for i in range(40)]
    chosen = choose_memory(found, 10, 'ab', seed=3)
    mixed = random.Random(0).sample(found, len(found))
    assert choose_memory(mixed, 10, 'ab', seed=3) == chosen
    assert choose_memory(found, 10, 'ab', seed=4) != chosen
    # A choice of a choice keeps what the whole would have kept.
    assert choose_memory(chosen, 4, 'ab', 3) == chosen[:4]


@pytest.fixture
def data(write_data):
    """Return the config of the data set of a step, with 60 mixed masks."""
    rng = np.random.default_rng(0)
    masks = {}
    for number in range(60):
        values = rng.choice([0, 1, 2, 3, 4, 255], 3, replace=False)
        masks[f'{number:02}'] = rng.choice(values, (6, 8))
    root = write_data(masks)

    def config(step: int, setting: str, **kwargs) -> ConfigDict:
        return ConfigDict(
            type='ContinualDataset',
            data_root=str(root),
            ann_file='list.txt',
            data_prefix=dict(
                img_path='JPEGImages', seg_map_path='SegmentationClassAug'
            ),
            metainfo=dict(classes=NAMES),
            task=[['a', 'b'], ['c'], ['d']],
            step=step,
            setting=setting,
            pipeline=PIPELINE,
            **kwargs,
        )

    return config


def label_maps(dataset) -> dict[str, np.ndarray]:
    found = {}
    for i in range(len(dataset)):
        sample = dataset[i]['data_samples']
        name = sample.img_path.rsplit('/')[-1]
        found[name] = sample.gt_sem_seg.data[0].numpy()
    return found


@pytest.mark.parametrize('setting', SETTINGS)
def test_labels_are_those_of_the_step_of_the_image(data, setting, tmp_path):
    """Over three steps: pixel by pixel what that step showed, no more."""
    memory, shown = [], []
    for step in range(3):
        config = data(step, setting)
        dataset = DATASETS.build(config)
        if memory:
            path = str(tmp_path / 'memory.json')
            write_memory(path, memory)
            assert read_memory(path) == memory
            joined = MemoryDataset(config, path)
            assert joined.num_memory == len(memory) == 8
            assert len(joined) == len(dataset) + 8
            steps = Counter()
            for i, kept in enumerate(memory):
                sample = joined[len(dataset) + i]['data_samples']
                assert sample.img_path.endswith(kept.image)
                labels = sample.gt_sem_seg.data[0].numpy()
                assert np.array_equal(labels, shown[kept.step][kept.image])
                values = {NAMES[v] for v in np.unique(labels) if 0 < v < 255}
                assert values == set(kept.labels)
                assert (
                    joined.get_data_info(len(dataset) + i)['num_old']
                    == (dataset.metainfo['num_old'])
                )
                steps[kept.step] += 1
                if setting != 'sequential':
                    own = (set('ab'), {'c'}, {'d'})[kept.step]
                    assert values <= own
            assert len(steps) == step
            first = joined[0]['data_samples'].gt_sem_seg.data
            assert (first == dataset[0]['data_samples'].gt_sem_seg.data).all()
        shown.append(label_maps(dataset))
        candidates = [*memory, *records_of(dataset)]
        memory = choose_memory(candidates, 8, dataset.metainfo['seen'][1:])


@pytest.mark.parametrize('setting', ['overlapped', 'partitioned'])
def test_hidden_labels_change_nothing(data, setting, write_data):
    """Records of step 1 are the same if all other classes are erased."""
    before = records_of(DATASETS.build(data(1, setting)))
    assert {name for r in before for name in r.labels} == {'c'}
    images = [r.image for r in before]
    dataset = DATASETS.build(data(1, setting))
    masks = {}
    for i in range(len(dataset)):
        info = dataset.get_data_info(i)
        sample = dataset[i]['data_samples'].gt_sem_seg.data[0].numpy()
        # Label 3 of the network is value 3 of the masks.
        masks[info['img_path'].rsplit('/')[-1][:-4]] = sample
    write_data(masks)
    after = records_of(DATASETS.build(data(1, setting)))
    assert [r for r in after if r.image in images] == before


@pytest.mark.parametrize('colored', [False, True])
def test_other_values_and_colors(data, write_data, tmp_path, colored):
    """Several values of a class are one class; masks may have colors."""
    rng = np.random.default_rng(0)
    values = rng.choice([0, 1, 2, 7, 8], (20, 6, 8))
    palette = [[30 * value, 5, 255 - value] for value in range(9)]
    masks = np.array(palette)[values] if colored else values
    write_data({f'{i:02}': mask for i, mask in enumerate(masks)})
    extra = dict(label_map={7: 'c', 8: 'c'}, task=[['a', 'b'], ['c']])
    extra['metainfo'] = dict(classes=NAMES[:4])
    if colored:
        extra['mask_palette'] = palette
    for step, label in ((0, values % 7 * (values < 7)), (1, values // 7 * 3)):
        config = ConfigDict(data(step, 'overlapped'), **extra)
        memory = choose_memory(records_of(DATASETS.build(config)), 5, 'abc')
        assert len(memory) == 5
        assert all(len(set(r.labels)) == len(r.labels) for r in memory)
        path = str(tmp_path / 'memory.json')
        write_memory(path, memory)
        joined = MemoryDataset(ConfigDict(config, step=1), path)
        for sample, kept in zip([*joined][-5:], memory):
            found = sample['data_samples'].gt_sem_seg.data[0].numpy()
            assert np.array_equal(found, label[int(kept.image[:2])])


def test_config_and_errors(data, tmp_path):
    loader = ConfigDict(
        dataset=data(1, 'overlapped'),
        sampler=dict(type='InfiniteSampler', shuffle=False),
        batch_size=4,
    )
    made = with_memory(loader, 'memory.json', 0.5)
    assert made.dataset.type == 'MemoryDataset'
    assert (made.sampler.infinite, made.sampler.shuffle) == (True, False)
    with pytest.raises(FileNotFoundError, match='memory.json does not exist'):
        DATASETS.build(made.dataset)
    path = tmp_path / 'memory.json'
    record = '{"image": %s, "mask": "a.png", "step": %s, "labels": %s}'
    for text, sentence in (
        ('[{"a": 1}]', 'no list'),
        ('[]', 'is empty'),
        (f'[{record % (5, 0, "[]")}]', 'no list .* is no image with its'),
        (f'[{record % (chr(34) * 2, 1.5, "[]")}]', 'no list'),
        (f'[{record % (chr(34) * 2, 0, "[1]")}]', 'no list'),
        (f'[{record % (chr(34) * 2, 0, "null")}]', 'no list'),
        ('[' * 10**5, 'no list'),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=sentence):
            MemoryDataset(data(1, 'overlapped'), str(path))
    two = ConfigDict(type='ConcatDataset', datasets=[loader.dataset] * 2)
    with pytest.raises(ValueError, match='joins several'):
        with_memory(ConfigDict(loader, dataset=two), 'memory.json', 0.5)
    with pytest.raises(ValueError, match=r'of 1 image\(s\) none would come'):
        with_memory(ConfigDict(loader, batch_size=1), 'memory.json', 0.5)
    other = ConfigDict(loader, sampler=dict(type='Mine'))
    with pytest.raises(ValueError, match='uses Mine: use one of'):
        with_memory(other, 'memory.json', 0.5)


def test_repeated_data_keeps_its_memory(data, tmp_path):
    write_memory(str(tmp_path / 'm.json'), [record(1, 'a')])
    inner = dict(type='RepeatDataset', dataset=data(1, 'overlapped'), times=2)
    inner['dataset'].update(data_prefix=dict(img_path='', seg_map_path=''))
    inner['dataset'].update(data(1, 'overlapped'))
    joined = MemoryDataset(inner, str(tmp_path / 'm.json'))
    base = base_dataset(joined)
    assert len(joined) == 2 * len(base) + 1
    assert joined.get_data_info(2 * len(base))['img_path'].endswith('/1.jpg')

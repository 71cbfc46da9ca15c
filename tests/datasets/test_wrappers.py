import pytest
from mmengine.config import ConfigDict

from mmseg_rbc.datasets.wrappers import base_datasets


def test_configs_inside_wrappers():
    a, b, c = (dict(type='Data', ann_file=name) for name in 'abc')
    both = dict(type='ConcatDataset', datasets=[b, c])
    repeated = dict(type='RepeatDataset', times=2, dataset=both)
    cfg = ConfigDict(type='ConcatDataset', datasets=[a, repeated])
    found = list(base_datasets(cfg))
    assert [dataset.ann_file for dataset in found] == ['a', 'b', 'c']
    assert found[2] is cfg.datasets[1].dataset.datasets[1], 'no copies'
    assert list(base_datasets(ConfigDict(a))) == [a]
    assert list(base_datasets(None)) == []


def test_what_is_no_data_set():
    with pytest.raises(ValueError, match='^3 is no data set: expected a dict'):
        list(base_datasets(dict(datasets=[3])))

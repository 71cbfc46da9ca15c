"""What the images of a step hold."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mmseg_rbc.engine import RunConfig, step_config
from mmseg_rbc.engine.survey import survey_images, survey_steps


@pytest.fixture
def config(tiny_config, write_data):
    """Four images: old classes 1 to 15, new ones 16 to 20."""
    values = dict(a=[1, 2], b=[16, 3], c=[16, 20], d=[17, 3, 5], e=[4])
    root = write_data(
        {name: np.array([[0, *row]]) for name, row in values.items()}
    )
    cfg, _ = tiny_config('ft', **{'continual.data_root': str(root)})
    for phase in ('train', 'val'):
        cfg[f'{phase}_dataloader'].dataset.ann_file = 'list.txt'
    return cfg


def test_old_classes_beside_new_ones(config):
    survey = survey_images(step_config(config, 1))
    assert survey.num_images == 3
    names = config.continual.metainfo.classes
    assert survey.shown == [names[3], names[5]]


def test_step_0_has_no_old_classes(config):
    survey = survey_images(step_config(config, 0))
    assert (survey.num_images, survey.shown) == (4, [])


def test_several_data_sets(config):
    cfg = step_config(config, 1)
    inner = cfg.train_dataloader.dataset.dataset
    cfg.train_dataloader.dataset = dict(
        type='ConcatDataset', datasets=[inner, dict(inner, indices=1)]
    )
    survey = survey_images(cfg)
    assert survey.num_images == 4 and len(survey.shown) == 2


def test_fingerprint_of_names_and_labels(config):
    """It knows the data apart, and reads nothing but the class index."""
    root = Path(config.continual.data_root)
    cfg = step_config(config, 1)
    first = survey_images(cfg).fingerprints
    assert survey_images(cfg).fingerprints == first
    assert first['train'] != first['val']
    names = (root / 'list.txt').read_text()
    (root / 'list.txt').write_text('c\n' + names.replace('c\n', ''))
    other = survey_images(cfg).fingerprints
    assert other['train'] != first['train'], 'another order'
    assert other['val'] != first['val']
    (root / 'list.txt').write_text(names)
    for image in (root / 'JPEGImages').iterdir():
        image.write_bytes(b'')
    assert survey_images(cfg).fingerprints == first, 'images are not read'
    mask = np.array([[0, 17, 3, 6]], np.uint8)
    Image.fromarray(mask).save(root / 'SegmentationClassAug/d.png')
    changed = survey_images(cfg).fingerprints
    assert changed['train'] != first['train'], 'other labels'
    assert changed['val'] == first['val'], 'all are evaluated: no labels known'


def test_masks_are_scanned_once(config):
    """The images of a step know the labels that selected them."""
    for step in (0, 1):
        survey_images(step_config(config, step))
    scans = Path(config.continual.data_root).rglob('class_index-*.npz')
    assert len(list(scans)) == 1


def test_tiny_data(tiny_config):
    cfg, _ = tiny_config('ft')
    counts = [survey_images(step_config(cfg, s)).num_images for s in (0, 1)]
    assert counts == [38, 20]


def test_missing_validation_data_is_found_before_training(config):
    config.val_dataloader.dataset.ann_file = 'no.txt'
    with pytest.raises(
        FileNotFoundError, match='image list .*no.txt does not'
    ):
        survey_images(step_config(config, 1))


def test_all_steps_are_looked_at(config, tmp_path):
    configs = RunConfig(config).steps('work')
    assert [s.num_images for s in survey_steps(configs, 2)] == [4, 3]
    with pytest.raises(
        ValueError, match=r'^step 1 has 3 image\(s\) for 4 pro'
    ):
        survey_steps(configs, 4)
    # An image that only step 1 has.
    Image.new('RGB', (9, 9)).save(tmp_path / 'JPEGImages/c.jpg')
    with pytest.raises(ValueError, match=r'c.jpg has 9 x 9 .*has 1 x 3: they'):
        survey_steps(configs, 1)


def test_broken_files_that_are_skipped(config, tmp_path):
    (tmp_path / 'JPEGImages/c.jpg').write_bytes(b'')
    config.continual.skip_unreadable = True
    survey = survey_images(step_config(config, 1))
    assert survey.num_images == 2
    assert survey.skipped == dict(train=1, val=1)
    assert len(survey.pairs) == 2 + 4


def test_trained_step_needs_no_images(config):
    """Only those of its evaluation are looked at."""
    cfg = step_config(config, 0)
    cfg.train_dataloader.dataset.dataset.ann_file = 'nowhere.txt'
    survey = survey_images(cfg, trained=True)
    assert (survey.num_images, survey.shown) == (0, None)
    assert list(survey.fingerprints) == ['val']
    with pytest.raises(FileNotFoundError, match='nowhere.txt does not exist'):
        survey_images(cfg)

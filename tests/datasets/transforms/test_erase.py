import numpy as np
import pytest
from mmseg.registry import TRANSFORMS

LABELS = np.array([[0, 3, 255], [0, 2, 4]], np.uint8)
NUM_OLD = 3
IS_NEW = np.array([[0, 1, 1], [0, 0, 1]], bool)


def run(num_old=NUM_OLD, labels=LABELS, seed=0, **kwargs):
    rng = np.random.default_rng(seed)
    image = rng.integers(1, 256, (*labels.shape, 3)).astype(np.uint8)
    results = dict(img=image.copy(), gt_seg_map=labels.copy(), num_old=num_old)
    erase = TRANSFORMS.build(dict(type='NewClassErase', **kwargs))
    return image, erase(results)


def test_black_by_hand():
    image, results = run(erase_void=True)
    expected = image.copy()
    expected[IS_NEW] = 0
    np.testing.assert_array_equal(results['img_erased'], expected)
    np.testing.assert_array_equal(results['img'], image)
    assert results['gt_erased_map'].tolist() == [[0, 255, 255], [0, 2, 255]]
    assert results['gt_erased_map'].dtype == np.uint8
    np.testing.assert_array_equal(results['gt_seg_map'], LABELS)


def test_void_stays_by_default():
    image, results = run()
    np.testing.assert_array_equal(results['img_erased'][0, 2], image[0, 2])
    assert not results['img_erased'][0, 1].any()
    assert results['gt_erased_map'][0, 2] == 255


def test_mean_is_that_of_kept_pixels():
    image, results = run(fill='mean', erase_void=True)
    mean = np.rint(image[~IS_NEW].astype(float).mean(0))
    assert (results['img_erased'][IS_NEW] == mean).all()
    kept = results['img_erased'][~IS_NEW]
    np.testing.assert_array_equal(kept, image[~IS_NEW])
    _, nothing = run(fill='mean', labels=np.full((2, 2), 3, np.uint8))
    assert not nothing['img_erased'].any()


def test_noise_keeps_the_rest_and_differs():
    labels = np.zeros((40, 40), np.uint8)
    labels[:, 20:] = 5
    np.random.seed(0)
    image, first = run(fill='noise', labels=labels)
    _, second = run(fill='noise', labels=labels)
    noise = first['img_erased'][:, 20:]
    assert (noise != second['img_erased'][:, 20:]).mean() > 0.9
    assert 110 < noise.mean() < 145 and noise.std() > 60
    np.testing.assert_array_equal(first['img_erased'][:, :20], image[:, :20])


def test_inpainting_continues_the_surroundings():
    labels = np.zeros((30, 30), np.uint8)
    labels[10:20, 10:20] = 4
    results = dict(
        img=np.full((30, 30, 3), 77, np.uint8), gt_seg_map=labels, num_old=3
    )
    results['img'][10:20, 10:20] = 200
    erase = TRANSFORMS.build(dict(type='NewClassErase', fill='inpaint'))
    erased = erase(results)['img_erased'].astype(int)
    assert abs(erased - 77).max() <= 3


def test_duplicate_copies_both():
    image, results = run(duplicate=True)
    np.testing.assert_array_equal(results['img_erased'], image)
    np.testing.assert_array_equal(results['gt_erased_map'], LABELS)


def test_step_0_is_left_alone():
    image, results = run(num_old=0)
    assert set(results) == {'img', 'gt_seg_map', 'num_old'}


def test_flipped_views_are_erased_alike():
    image, straight = run()
    results = dict(
        img=image[:, ::-1], gt_seg_map=LABELS[:, ::-1], num_old=NUM_OLD
    )
    flipped = TRANSFORMS.build(dict(type='NewClassErase'))(results)
    for key in ('img_erased', 'gt_erased_map'):
        np.testing.assert_array_equal(flipped[key][:, ::-1], straight[key])


def test_unknown_fill():
    with pytest.raises(ValueError, match="fill='white' is unknown: choose"):
        run(fill='white')
    expected = "NewClassErase(fill='black', erase_void=False, duplicate=False)"
    assert repr(TRANSFORMS.build(dict(type='NewClassErase'))) == expected

import pytest

from mmseg_rbc.datasets.pairs import find_pairs


def test_names_and_suffixes(tmp_path):
    """Nothing but names is looked at."""
    images, masks = tmp_path / 'images', tmp_path / 'masks/.mmseg_rbc'
    for folder in (images / 'bonn', masks, tmp_path / 'masks/bonn'):
        folder.mkdir(parents=True)
    for i in range(12):
        (images / f'bonn/{i}.jpg').touch()
        (tmp_path / f'masks/bonn/{i}_label.png').touch()
    (images / 'notes.txt').touch()
    (masks / 'cache.png').touch()
    folders = str(images), str(tmp_path / 'masks')
    names, *ends = find_pairs(*folders)
    assert names == sorted(f'bonn/{i}' for i in range(12)), '1 is not 11'
    assert ends == ['.jpg', '_label.png']
    (tmp_path / 'masks/bonn/7_label.png').unlink()
    sentence = 'image bonn/7.jpg of .* has no mask bonn/7_label.png'
    with pytest.raises(ValueError, match=sentence):
        find_pairs(*folders)


def test_folders_without_pictures(tmp_path):
    (tmp_path / 'empty').mkdir()
    (tmp_path / 'a.png').touch()
    with pytest.raises(ValueError, match='empty holds no image'):
        find_pairs(str(tmp_path), str(tmp_path / 'empty'))
    with pytest.raises(FileNotFoundError, match='nowhere does not exist'):
        find_pairs(str(tmp_path), str(tmp_path / 'nowhere'))

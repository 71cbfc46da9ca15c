import pytest
from mmengine.registry import Registry

from mmseg_rbc.utils.keys import (
    arguments,
    check_arguments,
    check_defaults,
    check_keys,
    defaults,
    find_class,
    is_misspelled,
    nearest,
)

PARENT = Registry('parent', scope='keys_parent', locations=['mmseg_rbc'])
CHILD = Registry(
    'child', scope='keys_child', parent=PARENT, locations=['mmseg_rbc']
)


@PARENT.register_module()
class Base:
    def __init__(self, depth, *, width=3, is_deep=True):
        pass


@CHILD.register_module()
class Open(Base):
    def __init__(self, *args, height=1, **kwargs):
        pass


@CHILD.register_module()
class Inherited(Open):
    pass


@CHILD.register_module()
class AnyName:
    def __init__(self, size=1, **kwargs):
        pass


@CHILD.register_module()
def function():
    pass


def test_unknown_key_and_its_nearest():
    check_keys(['lr', 'epochs'], ('lr', 'epochs', 'batch_size'), 'schedule')
    with pytest.raises(ValueError) as info:
        check_keys(['lr', 'epoch'], ('lr', 'epochs'), 'schedule.later')
    assert str(info.value) == (
        "schedule.later.epoch is unknown: did you mean 'epochs'?; "
        'schedule.later takes epochs, lr'
    )
    with pytest.raises(ValueError, match='^a.zzz is unknown; a takes lr$'):
        check_keys(['zzz'], ['lr'], 'a')


def test_nearest():
    assert nearest('wieght', ['weight', 'height']) == (
        ": did you mean 'weight'?"
    )
    assert nearest('zzz', ['weight']) == ''


def test_misspelled():
    assert is_misspelled('wieght', ['weight', 'depth'])
    assert not is_misspelled('weight', ['weight', 'weights'])
    assert not is_misspelled('optimizer', ['optim_wrapper'])


def test_part_that_is_no_dict():
    with pytest.raises(ValueError, match='^a is 5, expected a dict with some'):
        check_keys(5, ['lr'], 'a')


def test_type_by_default():
    """A class that takes any name is given none that is almost its own."""
    cls = check_arguments(dict(size=3), CHILD, 'part', default='AnyName')
    assert cls is AnyName
    check_arguments(dict(type='Open', priority=1), CHILD, 'a', ('priority',))
    with pytest.raises(ValueError, match="part.sizes is .* mean 'size'"):
        check_arguments(dict(type='AnyName', sizes=3), CHILD, 'part')


@pytest.mark.parametrize(
    'key, value, sentence',
    [
        ('width', 'abc', "^part.width is 'abc', expected a number$"),
        ('is_deep', 'abc', "^part.is_deep is 'abc', expected True or False$"),
        ('is_deep', [], r'^part.is_deep is \[\], expected True or False$'),
    ],
)
def test_value_of_another_kind_than_the_default(key, value, sentence):
    check_defaults(dict(width=(1, 2), is_deep=False), Base, 'part')
    with pytest.raises(ValueError, match=sentence):
        check_arguments({'type': 'Base', key: value}, CHILD, 'part')


def test_arguments_follow_kwargs_to_the_next_class():
    assert arguments(Base) == {'depth', 'width', 'is_deep'}
    assert arguments(Open) == {'depth', 'width', 'height', 'is_deep'}
    assert arguments(Inherited) == {'depth', 'width', 'height', 'is_deep'}
    assert arguments(AnyName) is None, 'anything goes'


def test_defaults_of_a_class_and_its_bases():
    assert defaults(Inherited) == dict(height=1, width=3, is_deep=True)
    assert defaults(AnyName) == dict(size=1)


def test_classes_are_found_in_the_parent_too():
    assert find_class('Open', CHILD, 'here') is Open
    assert find_class('Base', CHILD, 'here') is Base
    assert find_class(Base, CHILD, 'here') is Base
    for name in ('Opne', 'Bose', 'function', 3, None):
        with pytest.raises(ValueError, match=f'here={name!r} is not regist'):
            find_class(name, CHILD, 'here')
    with pytest.raises(ValueError, match="did you mean 'Base'?"):
        find_class('Bsae', CHILD, 'here')


@pytest.mark.parametrize(
    'config, sentence',
    [
        (dict(type='Open', hight=2), "part.hight is .* mean 'height'"),
        (dict(type='Oepn'), "part.type='Oepn' is not reg.* mean 'Open'"),
        (dict(height=2), "part is {'height': 2}, expected a dict with a type"),
        ('Open', "part is 'Open', expected a dict"),
    ],
)
def test_arguments_of_a_part(config, sentence):
    check_arguments(dict(type='Open', height=1, depth=2), CHILD, 'part')
    check_arguments(dict(type='Open', _scope_='mmseg'), CHILD, 'part')
    check_arguments(dict(type='AnyName', whatever=1), CHILD, 'part')
    with pytest.raises(ValueError, match=sentence):
        check_arguments(config, CHILD, 'part')

import pytest
import torch

from mmseg_rbc.utils.weights import check_weights

NETWORK = {f'conv.{i}': torch.zeros(2, 3) for i in range(5)}


def test_the_same_network():
    check_weights(NETWORK, NETWORK, 'x.pth')
    wrapped = {f'module.{key}': w for key, w in NETWORK.items()}
    check_weights(wrapped, NETWORK, 'x.pth')
    check_weights(NETWORK, wrapped, 'x.pth')


@pytest.mark.parametrize(
    'change, sentence',
    [
        (
            {'more': torch.zeros(1)},
            r'weights: 1 are unknown \(more\)\. Use th',
        ),
        ({'conv.0': None}, r'1 are missing \(conv.0\)\. Use the config'),
        (
            {f'conv.{i}': None for i in range(4)},
            r'4 are missing \(conv.0, conv.1, conv.2, ...\)\.',
        ),
        (
            {'conv.1': torch.zeros(4)},
            r'1 have another shape \(conv.1 is 4 instead of 2 x 3\)\.',
        ),
        (
            {'conv.1': torch.tensor(1.0), 'b': torch.zeros(1)},
            r'1 are unknown \(b\); 1 have .*\(conv.1 is one number instead',
        ),
    ],
)
def test_another_network(change, sentence):
    state = {**NETWORK, **change}
    state = {key: w for key, w in state.items() if w is not None}
    with pytest.raises(ValueError, match=sentence) as info:
        check_weights(state, NETWORK, 'x.pth')
    assert str(info.value).startswith('x.pth is of another network than')

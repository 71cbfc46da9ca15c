"""What an iteration costs beyond its bare work, and beside published code.

The bare work of a batch is what no method can leave out: the preprocessor,
forward and backward pass of the student with MMSeg's cross entropy of
full-size logits, a forward pass of the (fused) teacher if the method asks
one, and the step of the optimizer.
"""

from __future__ import annotations

from collections.abc import Iterator

from cases import NAMES, NETWORKS, Iteration
from measure import Figure, in_turns, ratio
from published import PublishedSchedule

SIZES = (128, 256)
# Of the smaller size: 4 duplets.
IMAGES = 8


def iteration_figures(quick: bool) -> Iterator[Figure]:
    """Compare every method with its bare work."""
    for network in NETWORKS:
        for size in SIZES[:1] if quick else SIZES:
            for name in NAMES:
                yield one_method(network, name, size, quick)


def one_method(network: str, name: str, size: int, quick: bool) -> Figure:
    """Compare one method: half as many images where they are larger."""
    case = Iteration(network, name, IMAGES // (size // SIZES[0]), size)
    times = in_turns(dict(run=case.run, bare=case.bare), 5 if quick else 15)
    limit = '<= 1.03' if name == 'rbc' else '<= 1.05'
    what = f'{name}, {network}, {size} px: iteration / bare work'
    return ratio('iteration', what, times['run'], times['bare'], limit)


def published_figures(quick: bool) -> Iterator[Figure]:
    """Compare RBC with a model of the published schedule."""
    for network in NETWORKS:
        case = Iteration(network, 'rbc', IMAGES, 128)
        model = PublishedSchedule(case)
        functions = dict(run=case.run, published=model.run)
        times = in_turns(functions, 3 if quick else 7)
        what = f'rbc, {network}, 128 px: published schedule / ours'
        above, below = times['published'], times['run']
        yield ratio('published', what, above, below, '>= 1.2')


def growth_figures(quick: bool) -> Iterator[Figure]:
    """Compare RBC's iteration with one of half the size."""
    changes = [
        ('twice the images', (8, 64, (16, 21))),
        ('twice the side of images', (4, 128, (16, 21))),
        ('151 classes instead of 21', (4, 64, (101, 151))),
        ('a later step: 20 old classes instead of 16', (4, 64, (20, 21))),
    ]
    first = Iteration('mv2', 'rbc', 4, 64, (16, 21))
    for what, change in changes:
        other = Iteration('mv2', 'rbc', *change)
        functions = dict(other=other.run, first=first.run)
        times = in_turns(functions, 3 if quick else 9)
        yield ratio(
            'growth', f'rbc, mv2, {what}', times['other'], times['first']
        )

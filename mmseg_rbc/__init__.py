"""Continual semantic segmentation for MMSegmentation.

One line in a config registers everything::

    custom_imports = dict(imports=['mmseg_rbc'])
"""

from .utils.stack import prepare_stack
from .version import __version__

prepare_stack()

from . import datasets, engine, evaluation, models  # noqa: E402
from .utils.safe_loading import guard_loading  # noqa: E402

guard_loading()

__all__ = ['__version__', 'datasets', 'engine', 'evaluation', 'models']

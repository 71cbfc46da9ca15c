"""Use trained networks."""

from .adding import AddedClasses, add_classes, added_work_dir
from .embedded_config import build_dataset
from .inference import load_network, network_config, predict

__all__ = [
    'AddedClasses',
    'add_classes',
    'added_work_dir',
    'build_dataset',
    'load_network',
    'network_config',
    'predict',
]

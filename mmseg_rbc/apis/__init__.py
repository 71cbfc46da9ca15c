"""Use trained networks."""

from .embedded_config import build_dataset
from .inference import load_network, network_config, predict

__all__ = ['build_dataset', 'load_network', 'network_config', 'predict']

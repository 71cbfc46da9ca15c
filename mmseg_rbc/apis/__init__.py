"""Use trained networks."""

from .inference import load_network, network_config, predict

__all__ = ['load_network', 'network_config', 'predict']

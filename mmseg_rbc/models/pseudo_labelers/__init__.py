"""Labels for the old classes that hide in the background."""

from .confidence import ConfidencePseudoLabeler, NaivePseudoLabeler
from .entropy import EntropyPseudoLabeler, normalized_entropy
from .thresholds import MedianThresholds, ReleasedThresholds

__all__ = [
    'ConfidencePseudoLabeler',
    'EntropyPseudoLabeler',
    'MedianThresholds',
    'NaivePseudoLabeler',
    'ReleasedThresholds',
    'normalized_entropy',
]

"""Labels for the old classes that hide in the background."""

from .confidence import ConfidencePseudoLabeler, NaivePseudoLabeler
from .entropy import EntropyPseudoLabeler, normalized_entropy
from .thresholds import (
    HistogramThresholds,
    MedianThresholds,
    PublishedThresholds,
)

__all__ = [
    'ConfidencePseudoLabeler',
    'EntropyPseudoLabeler',
    'HistogramThresholds',
    'MedianThresholds',
    'NaivePseudoLabeler',
    'PublishedThresholds',
    'normalized_entropy',
]

"""Losses: each a pure function and a thin module."""

from .consistency import ContextConsistencyLoss, squared_distance
from .cross_entropy import (
    OneVsRestCrossEntropy,
    PixelCrossEntropy,
    UnbiasedCrossEntropy,
    balance_weight,
    one_vs_rest_cross_entropy,
    pixel_cross_entropy,
    unbiased_cross_entropy,
)
from .distillation import (
    FeatureDistillationLoss,
    KnowledgeDistillationLoss,
    SigmoidDistillationLoss,
    folded_log_probs,
    knowledge_distillation,
    old_log_probs,
    sigmoid_distillation,
)
from .global_mean import global_mean, image_share
from .label_guided import (
    LabelGuidedDistillationLoss,
    label_guided_distillation,
    label_guided_probs,
)
from .local_pod import LocalPODLoss, local_pod_distance
from .pixel_mean import pixel_mean

__all__ = [
    'ContextConsistencyLoss',
    'FeatureDistillationLoss',
    'KnowledgeDistillationLoss',
    'LabelGuidedDistillationLoss',
    'LocalPODLoss',
    'OneVsRestCrossEntropy',
    'PixelCrossEntropy',
    'SigmoidDistillationLoss',
    'UnbiasedCrossEntropy',
    'balance_weight',
    'folded_log_probs',
    'global_mean',
    'image_share',
    'knowledge_distillation',
    'label_guided_distillation',
    'label_guided_probs',
    'local_pod_distance',
    'old_log_probs',
    'one_vs_rest_cross_entropy',
    'pixel_cross_entropy',
    'pixel_mean',
    'sigmoid_distillation',
    'squared_distance',
    'unbiased_cross_entropy',
]

"""Evaluation of continual runs."""

from .metrics import ContinualIoUMetric

__all__ = ['ContinualIoUMetric']

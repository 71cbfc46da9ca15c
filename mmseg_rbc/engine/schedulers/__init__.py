"""Schedules of the learning rate."""

from .poly_lr import PublishedPolyLR

__all__ = ['PublishedPolyLR']

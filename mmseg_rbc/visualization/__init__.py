"""Pictures of continual data."""

from .duplets import draw_duplets, duplet_views

__all__ = ['draw_duplets', 'duplet_views']

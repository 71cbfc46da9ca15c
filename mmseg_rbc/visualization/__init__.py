"""Pictures from data and arrays: duplets, and labels over an image."""

from .duplets import draw_duplets, duplet_views
from .overlay import blend, draw_legend, draw_overlay

__all__ = [
    'blend',
    'draw_duplets',
    'draw_legend',
    'draw_overlay',
    'duplet_views',
]

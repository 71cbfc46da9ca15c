"""Runs on disk: their files, one run, and runs with several seeds."""

from .work_dir import StepDir, WorkDir

__all__ = ['StepDir', 'WorkDir']

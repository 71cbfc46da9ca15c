"""Helpers that fit nowhere else."""

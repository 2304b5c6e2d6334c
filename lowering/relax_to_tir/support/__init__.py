"""Helpers of legalization: emission, axes, checks, scalar functions, sorting."""

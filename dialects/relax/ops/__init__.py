"""Relax operations, one module per category."""

"""Legalisation: Relax operations become prim funcs, one module per category of operations."""

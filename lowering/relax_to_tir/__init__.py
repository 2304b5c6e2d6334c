"""Legalisation: every Relax operation becomes a prim func, one module per category of operations."""

"""Structural equality and hashing: programs compared up to names."""
